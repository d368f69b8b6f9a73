import CLatchkeyMachine

/// What the Swift runtime did on the heap: objects allocated, references counted.
///
/// Memory that is not an object, such as that of an `UnsafeMutablePointer` or of a block that
/// Dispatch allocates, is not in it. The compiler leaves out counting that it can prove needless,
/// so that the counts are those of this build.
///
/// **Design.** One run counts at a time. The thread that begins is left out, so that waiting for
/// the others adds nothing.
struct HeapOperations: Sendable, Equatable {
    var allocations: UInt64
    var retains: UInt64
    var releases: UInt64

    /// The counts so far.
    static var now: Self {
        let now = latchkey_machine_heap_now()
        return Self(
            allocations: now.allocations,
            retains: now.retains,
            releases: now.releases
        )
    }

    /// False if the runtime does not let itself be watched.
    static func begin() -> Bool { latchkey_machine_heap_begin() }

    static func end() { latchkey_machine_heap_end() }

    static func - (later: Self, earlier: Self) -> Self {
        Self(
            allocations: later.allocations - earlier.allocations,
            retains: later.retains - earlier.retains,
            releases: later.releases - earlier.releases
        )
    }

    func figures(operations: Int) -> ComparisonReport.HeapFigures {
        func perOperation(_ count: UInt64) -> Double {
            // What the slice itself does once is a thousandth of an operation.
            (Double(count) / Double(operations) * 100).rounded() / 100
        }
        return ComparisonReport.HeapFigures(
            allocationsPerOperation: perOperation(allocations),
            retainsPerOperation: perOperation(retains),
            releasesPerOperation: perOperation(releases)
        )
    }
}
