/// An answer, and the commit that it must not be seen before.
package struct Withheld<Value: Sendable>: Sendable {
    let value: Value
    let revision: Revision

    init(_ value: Value, _ revision: Revision) {
        self.value = value
        self.revision = revision
    }
}

/// The commits that leave no property of their revision in a table, and may not be released yet:
/// deletions, and times to live that started again.
///
/// Any other commit leaves the revision that a read depends on in the property.
struct WithheldTraces: Sendable {
    private struct Trace {
        let hash: UInt64
        let revision: Revision
    }

    private var traces: [Trace] = []

    mutating func add(_ name: PropertyName, _ revision: Revision, released: Revision) {
        traces.removeAll { $0.revision <= released }
        traces.append(Trace(hash: name.hash, revision: revision))
    }

    /// The revision of the latest such commit of the name, 0 if all are released.
    ///
    /// Names of the same hash count as one: a read then waits for one commit more.
    func revision(of name: PropertyName) -> Revision {
        traces.last { $0.hash == name.hash }?.revision ?? 0
    }
}
