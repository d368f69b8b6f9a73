public import LatchkeySync

/// A store whose commits go to a journal.
///
/// An answer does not wait for the journal: who needs it to have caught up with a revision that was
/// shown asks ``Journal/whenReached(_:_:)``.
@usableFromInline
package struct JournaledStore<Base: CommittingStore>: CommittingStore {
    private let base: Base
    private let journal: Journal

    package init(_ base: Base, journal: Journal) {
        self.base = base
        self.journal = journal
    }

    @inline(__always)
    @usableFromInline
    package func look(
        _ name: PropertyName,
        observer: some EntryObserver,
        completion: @escaping @Sendable (Property?) -> Void
    ) {
        base.look(name, observer: observer, completion: completion)
    }

    @inline(__always)
    @usableFromInline
    package func commit(
        _ change: Change,
        observer: some EntryObserver,
        completion: @escaping @Sendable (Decision) -> Void
    ) throws(BacklogFull) {
        try base.commit(change, observer: observer) { [journal] decision in
            if case .success(let commit) = decision, !commit.isEmpty {
                journal.append(commit)
            }
            completion(decision)
        }
    }

    @usableFromInline
    package func list(
        _ request: PageRequest,
        observer: some EntryObserver,
        completion: @escaping @Sendable (Page) -> Void
    ) {
        base.list(request, observer: observer, completion: completion)
    }

    @usableFromInline
    package func snapshot(completion: @escaping @Sendable (StoreSnapshot) -> Void) {
        base.snapshot(completion: completion)
    }
}
