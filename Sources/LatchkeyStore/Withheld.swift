/// An answer, and the commit that it must not be seen before.
@usableFromInline
struct Withheld<Value: Sendable>: Sendable {
    @usableFromInline let value: Value
    @usableFromInline let revision: Revision
    @usableFromInline let generation: Generation

    @usableFromInline
    init(_ value: Value, _ revision: Revision, _ generation: Generation) {
        self.value = value
        self.revision = revision
        self.generation = generation
    }
}

/// The deletions of a table that may not be released yet.
///
/// An existing property has the revision that a read of it depends on; a deleted one has none.
struct WithheldDeletions: Sendable {
    private struct Deletion {
        let hash: UInt64
        let revision: Revision
    }

    private var deletions: [Deletion] = []

    mutating func add(_ name: PropertyName, _ revision: Revision, released: Revision) {
        deletions.removeAll { $0.revision <= released }
        deletions.append(Deletion(hash: name.hash, revision: revision))
    }

    /// Forgets those that are taken back.
    mutating func takeBack(after revision: Revision) {
        deletions.removeAll { $0.revision > revision }
    }

    /// The revision of the latest deletion of the name, 0 if all are released.
    ///
    /// Names of the same hash count as one: a read then waits for one commit more.
    func revision(of name: PropertyName) -> Revision {
        deletions.last { $0.hash == name.hash }?.revision ?? 0
    }
}
