/// The properties of one revision in the order of their names: those of a snapshot, or those of an
/// earlier revision.
///
/// A property of an earlier revision stays until a commit removes it, even if it expired before. So
/// the walk yields the state of a client that followed all commits up to the revision.
package struct StateWalk: IteratorProtocol, Sequence, Sendable {
    package let revision: Revision
    /// When the snapshot was taken.
    package let time: Timestamp
    private var current: MergedWalk
    private var head: Property?
    /// For each name that changed since the revision, the first effect on it.
    private var undone: ArraySlice<Commit.Effect>

    /// The properties of a snapshot whose names begin with the prefix.
    package init(_ snapshot: StoreSnapshot, prefix: OwnedBytes) {
        revision = snapshot.revision
        time = snapshot.time
        current = snapshot.walk(prefix: prefix)
        head = current.next()
        undone = []
    }

    /// The properties of an earlier revision.
    ///
    /// - Parameters:
    ///   - snapshot: The state of a later revision, or of this one.
    ///   - commits: All commits between the two, in order.
    ///   - revision: The revision.
    ///   - prefix: Only names that begin with these bytes.
    package init(
        _ snapshot: StoreSnapshot,
        undoing commits: [Commit],
        to revision: Revision,
        prefix: OwnedBytes
    ) {
        self.revision = revision
        time = snapshot.time
        current = snapshot.walk(prefix: prefix, includesExpired: true)
        head = current.next()
        undone = Self.firstEffects(commits, prefix)[...]
    }

    package mutating func next() -> Property? {
        while let effect = undone.first {
            if let head, unsafe head.nameBytes.precedes(effect.nameBytes) {
                break
            }
            undone.removeFirst()
            if let head, unsafe head.nameBytes.equals(effect.nameBytes) {
                self.head = current.next()
            }
            if let former = effect.former {
                return former
            }
        }
        defer { head = current.next() }
        return head
    }

    /// For each name the first effect on it, in the order of names.
    private static func firstEffects(
        _ commits: [Commit],
        _ prefix: OwnedBytes
    ) -> [Commit.Effect] {
        let effects = commits.flatMap(\.effects).filter {
            unsafe $0.nameBytes.begins(with: prefix.bytes)
        }
        let order = effects.indices.sorted { one, other in
            let (name, otherName) = unsafe (effects[one].nameBytes, effects[other].nameBytes)
            return unsafe name.equals(otherName) ? one < other : name.precedes(otherName)
        }
        var first: [Commit.Effect] = []
        for index in order {
            if let last = first.last, unsafe last.nameBytes.equals(effects[index].nameBytes) {
                continue
            }
            first.append(effects[index])
        }
        return first
    }
}
