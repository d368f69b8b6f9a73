/// Counts what the process asks of the heap and of the reference counts, where the program has a
/// way to do that.
///
/// A lab has one. `latchkey` has none, since it has no workload of one's own.
///
/// **Design.** One slice counts at a time. The thread that begins is left out, so that its waiting
/// for the others adds nothing.
package struct HeapCounter: Sendable {
    /// False if it is not possible after all.
    let begin: @Sendable () -> Bool
    /// So far.
    let counts: @Sendable () -> HeapCounts
    let end: @Sendable () -> Void

    package init(
        begin: @escaping @Sendable () -> Bool,
        counts: @escaping @Sendable () -> HeapCounts,
        end: @escaping @Sendable () -> Void
    ) {
        self.begin = begin
        self.counts = counts
        self.end = end
    }
}

/// How often something allocated, and took or gave back a strong reference.
package struct HeapCounts: Sendable {
    let allocations: Int
    /// `nil` where they cannot be counted.
    let references: Int?

    package init(allocations: Int, references: Int?) {
        self.allocations = allocations
        self.references = references
    }

    static func - (one: Self, other: Self) -> Self {
        Self(
            allocations: one.allocations - other.allocations,
            references: one.references.map { $0 - (other.references ?? 0) }
        )
    }

    /// For each of some operations, to a hundredth: the slice itself needs less than that.
    func per(_ operations: Int) -> ComparisonReport.HeapUse {
        func share(_ count: Int) -> Double {
            (Double(count) / Double(operations) * 100).rounded() / 100
        }
        return .init(allocations: share(allocations), references: references.map(share))
    }
}
