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
    @usableFromInline let journal: Journal?
    @usableFromInline let expiries: ExpiryQueue
    /// Nil if a store that is full refuses changes.
    @usableFromInline let evictor: Evictor?

    /// - Parameters:
    ///   - base: The store.
    ///   - journal: Gets all commits; nil if it gets them, and the queue of expiries, from
    ///     elsewhere.
    ///   - expiries: Removes what expires from this store.
    ///   - evictor: Makes room in this store.
    package init(_ base: Base, journal: Journal?, expiries: ExpiryQueue, evictor: Evictor?) {
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
        try commit(change, attempt: 0, observer: observer, receiver: receiver)
    }

    /// Commits a change, and makes room for it where there is too little.
    ///
    /// One call with or without an evictor: for each one all of the commit is compiled again, under
    /// each strategy.
    @inlinable
    @inline(__always)
    func commit(
        _ change: Change,
        attempt: Int,
        observer: some EntryObserver,
        receiver: some DecisionReceiver
    ) throws(BacklogFull) {
        let room = evictor.map { evictor in
            evictor.room(for: change, attempt: attempt) { [self] () throws(BacklogFull) in
                try again(change, attempt: attempt + 1, observer, receiver)
            } whenRefused: {
                receiver.receive($0)
            }
        }
        let receiver = JournalingReceiver(journal, expiries, ifFull: room, next: receiver)
        try base.commit(change, observer: observer, receiver: receiver)
    }

    @inlinable
    @inline(never)
    func again(
        _ change: Change,
        attempt: Int,
        _ observer: some EntryObserver,
        _ receiver: some DecisionReceiver
    ) throws(BacklogFull) {
        try commit(change, attempt: attempt, observer: observer, receiver: receiver)
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

/// Records the decision before the next one receives it, unless room is made for the change first.
@usableFromInline
struct JournalingReceiver<Next: DecisionReceiver>: DecisionReceiver {
    @usableFromInline let journal: Journal?
    @usableFromInline let expiries: ExpiryQueue
    @usableFromInline let ifFull: (@Sendable (StoreFull) -> Void)?
    @usableFromInline let next: Next

    @inlinable
    init(
        _ journal: Journal?,
        _ expiries: ExpiryQueue,
        ifFull: (@Sendable (StoreFull) -> Void)?,
        next: Next
    ) {
        self.journal = journal
        self.expiries = expiries
        self.ifFull = ifFull
        self.next = next
    }

    @inlinable
    func receive(_ decision: Decision) {
        if let ifFull, case .failure(.full(let full)) = decision {
            ifFull(full)
            return
        }
        journal?.record(decision, expiries)
        next.receive(decision)
    }

    @inlinable
    var author: [UInt8]? { next.author }

    @inlinable
    var identity: RequestIdentity? { next.identity }

    @inlinable
    func note(for commit: Commit) -> CommitNote? {
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

extension Evictor {
    /// What is done if there is too little room for a change.
    ///
    /// - Parameters:
    ///   - change: The change.
    ///   - attempt: How often room was made for it.
    ///   - again: Commits the change again.
    ///   - refuse: Given the refusal.
    /// - Returns: A closure that makes room and then commits again.
    @usableFromInline
    func room(
        for change: Change,
        attempt: Int,
        _ again: @escaping @Sendable () throws(BacklogFull) -> Void,
        whenRefused refuse: @escaping @Sendable (Decision) -> Void
    ) -> @Sendable (StoreFull) -> Void {
        { [self] full in
            guard attempt < Self.attemptsMax else {
                refuse(.failure(.full(full)))
                return
            }
            makeRoom(for: change, full) { made in
                switch made {
                case .room: break
                case .nothing: return refuse(.failure(.full(full)))
                case .refused(let refusal): return refuse(.failure(refusal))
                }
                do throws(BacklogFull) {
                    try again()
                } catch {
                    refuse(.failure(.backlogFull))
                }
            }
        }
    }
}
