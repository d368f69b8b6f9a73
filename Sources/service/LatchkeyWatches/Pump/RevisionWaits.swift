internal import LatchkeyStore

/// The waits for revisions.
///
/// A round without one that is reached costs a comparison, however many there are.
struct RevisionWaits {
    private var revisions: [UInt64: Revision] = [:]
    /// No wait is for an earlier one.
    private var least: Revision = .max

    /// Adds a wait for a revision; `.max` for none.
    mutating func add(_ id: UInt64, _ revision: Revision) {
        guard revision != .max else { return }
        revisions[id] = revision
        least = min(least, revision)
    }

    mutating func remove(_ id: UInt64) {
        revisions[id] = nil
    }

    /// Takes the waits for revisions up to this one, in the order in which they came.
    mutating func reached(_ revision: Revision) -> [UInt64] {
        guard least <= revision else { return [] }
        let reached = revisions.filter { $0.value <= revision }.keys.sorted()
        for id in reached { revisions[id] = nil }
        least = revisions.values.min() ?? .max
        return reached
    }
}
