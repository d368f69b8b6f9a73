public import LatchkeySync

/// A store whose commits go to a journal, whose properties expire, and which makes room.
///
/// Inlinable, or the changes of each request would be made by code that is not specialised for the
/// strategy, which takes twice as long.
///
/// An answer does not wait for the journal: who needs it to have caught up with a revision that was
/// shown asks ``Journal/whenReached(_:_:)``.
@usableFromInline
package struct JournaledStore<Base: CommittingStore>: CommittingStore {
    @usableFromInline let base: Base
    @usableFromInline let journal: Journal
    @usableFromInline let expiries: ExpiryQueue
    /// Nil if a store that is full refuses changes.
    @usableFromInline let evictor: Evictor?

    /// - Parameters:
    ///   - base: The store.
    ///   - journal: Gets all commits.
    ///   - expiries: Removes what expires from this store.
    ///   - evictor: Makes room in this store.
    package init(_ base: Base, journal: Journal, expiries: ExpiryQueue, evictor: Evictor?) {
        self.base = base
        self.journal = journal
        self.expiries = expiries
        self.evictor = evictor
        expiries.start(self)
        evictor?.start(self)
    }

    @inlinable
    @inline(__always)
    package func look(
        _ name: PropertyName,
        in scope: PropertyScope,
        observer: some EntryObserver,
        completion: @escaping @Sendable (Property?) -> Void
    ) throws(BacklogFull) {
        try base.look(name, in: scope, observer: observer, completion: completion)
    }

    @inlinable
    @inline(__always)
    package func commit(
        _ change: Change,
        observer: some EntryObserver,
        receiver: some DecisionReceiver
    ) throws(BacklogFull) {
        guard let evictor else {
            let receiver = JournalingReceiver(journal, expiries, next: receiver)
            try base.commit(change, observer: observer, receiver: receiver)
            return
        }
        try commit(change, evictor, attempt: 0, observer: observer, receiver: receiver)
    }

    /// Commits a change, and makes room for it where there is too little.
    @inlinable
    func commit(
        _ change: Change,
        _ evictor: Evictor,
        attempt: Int,
        observer: some EntryObserver,
        receiver: some DecisionReceiver
    ) throws(BacklogFull) {
        let relay = DecisionRelay(to: receiver) { [self] decision in
            journal.record(decision, expiries)
            guard case .failure(.full(let full)) = decision, attempt < Evictor.attemptsMax else {
                receiver.receive(decision)
                return
            }
            evictor.makeRoom(for: change, full) { [self] made in
                switch made {
                case .room: break
                case .nothing: return receiver.receive(decision)
                case .refused(let refusal): return receiver.receive(.failure(refusal))
                }
                do throws(BacklogFull) {
                    try commit(
                        change,
                        evictor,
                        attempt: attempt + 1,
                        observer: observer,
                        receiver: receiver
                    )
                } catch {
                    receiver.receive(.failure(.backlogFull))
                }
            }
        }
        try base.commit(change, observer: observer, receiver: relay)
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

/// Records the decision before the next one receives it.
@usableFromInline
struct JournalingReceiver<Next: DecisionReceiver>: DecisionReceiver {
    @usableFromInline let journal: Journal
    @usableFromInline let expiries: ExpiryQueue
    @usableFromInline let next: Next

    @inlinable
    init(_ journal: Journal, _ expiries: ExpiryQueue, next: Next) {
        self.journal = journal
        self.expiries = expiries
        self.next = next
    }

    @inlinable
    func receive(_ decision: Decision) {
        journal.record(decision, expiries)
        next.receive(decision)
    }

    @inlinable
    func note(for commit: Commit) -> [UInt8]? {
        next.note(for: commit)
    }
}

extension Journal {
    /// Takes the commit of a decision, if it has one with an effect.
    @usableFromInline
    func record(_ decision: Decision, _ expiries: ExpiryQueue) {
        if case .success(let commit) = decision, !commit.isEmpty {
            // Counted before anybody is told of the commit.
            expiries.note(commit)
            append(commit)
        }
    }
}
