internal import CLatchkeySystem
internal import LatchkeySync
internal import Synchronization

/// The latest commits of a store, in the order of their revisions and without a gap.
///
/// It is the one source for everyone who follows the store: watches, long polls, histories.
///
/// **Design.** A commit is given to the journal after its guarded section, by the thread that made
/// it, so commits arrive a little out of order. One that is early waits in `early`. ``last`` grows
/// only over commits without a gap. The journal's lock is held for the exchange of an entry in a
/// ring; commits that it drops are freed outside. Nothing is called while it is held.
///
/// Its users keep a place, not a queue: a revision, from which on they read when they like. So a
/// slow user costs nothing, and the only memory is the history.
@usableFromInline
package final class Journal: Sendable {
    private struct Waiting: Sendable {
        let revision: Revision
        let proceed: @Sendable () -> Void
    }

    /// A commit in the history.
    ///
    /// What is needed of it when it is dropped stands beside the reference. The commit may have
    /// been unused for long: to look at it would be to wait for memory, while the lock is held.
    private struct Entry: Sendable {
        let commit: Commit
        /// The bytes that only the history keeps for it.
        let byteCount: Int
        /// Where the first property is that the commit replaced; 0 if there is none.
        let formerAddress: UInt

        init(_ commit: Commit) {
            self.commit = commit
            byteCount = commit.historyByteCount
            formerAddress = commit.first?.former?.address ?? 0
        }

        /// Fetches what is freed with the entry, and then used again, into the processor's cache.
        ///
        /// Both objects are usually longer than one line of it.
        func prefetch() {
            let address = UInt(bitPattern: ObjectIdentifier(commit))
            for offset: UInt in [0, 64] {
                latchkey_system_prefetch(address + offset)
                latchkey_system_prefetch(formerAddress + offset)
            }
        }
    }

    private struct State: Sendable {
        /// The commits up to `last`.
        var history = RingBuffer<Entry>()
        /// The bytes that only the history keeps: former values, and commits.
        var byteCount = 0
        var last: Revision
        var early: [Revision: Commit] = [:]
        var waiting: [Waiting] = []
    }

    /// What is left to do after a commit was added, outside of the lock.
    private struct Delivery {
        /// Commits to free: usually one, for which no array is made.
        private var dropped: Commit?
        private var droppedOthers: [Commit] = []
        /// Those who waited for the commit, in order.
        var ready: [Waiting] = []

        mutating func drop(_ commit: Commit) {
            if dropped == nil {
                dropped = commit
            } else {
                droppedOthers.append(commit)
            }
        }
    }

    /// What a read found.
    package enum Reading: Sendable {
        /// The commits behind the place, in order; none if there are none yet.
        case commits([Commit])
        /// The commits behind the place are not all held any more.
        case gone
    }

    /// The revision before the first commit of the store.
    ///
    /// A journal that goes on behind a restart begins at a later one.
    package let start: Revision
    private let limits: HistoryLimits
    private let lastRevision: Atomic<Revision>
    private let state: Synchronized<State, AdaptiveStrategy>

    /// - Parameters:
    ///   - limits: The bounds of the history.
    ///   - revision: The revision before the first commit that is appended.
    ///   - start: The revision before the first commit of the store, if that was before.
    package init(
        _ limits: HistoryLimits,
        after revision: Revision = 0,
        start: Revision? = nil
    ) {
        self.limits = limits
        self.start = start ?? revision
        lastRevision = Atomic(revision)
        state = Synchronized(State(last: revision))
    }

    /// The latest commit that is delivered, with all before it.
    ///
    /// Acquiring: pairs with the store in ``append(_:)``.
    package var last: Revision { lastRevision.load(ordering: .acquiring) }

    /// The lowest revision behind which all commits are held.
    package var oldest: Revision { state.read { $0.last - Revision($0.history.count) } }

    /// The revision that a client names.
    ///
    /// 0 stands for the one before the first commit, because every store begins empty.
    package func named(_ revision: Revision) -> Revision {
        revision == 0 ? start : revision
    }

    /// How many commits are held, and how many bytes only they keep.
    package var usage: (commitCount: Int, byteCount: Int) {
        state.read { ($0.history.count, $0.byteCount) }
    }

    /// Takes a commit.
    ///
    /// Called once for each revision, from any thread and in any order.
    package func append(_ commit: Commit) {
        let commit = commit.withoutOutcome
        let delivery = state.write { state in
            guard commit.revision == state.last + 1 else {
                state.early[commit.revision] = commit
                return Delivery()
            }
            return deliver(commit, &state)
        }
        withExtendedLifetime(delivery) {
            for answer in delivery.ready {
                answer.proceed()
            }
        }
    }

    /// Adds the next commit, and those that were early behind it.
    private func deliver(_ commit: Commit, _ state: inout State) -> Delivery {
        var delivery = Delivery()
        add(commit, &state, &delivery)
        while !state.early.isEmpty, let next = state.early.removeValue(forKey: state.last + 1) {
            add(next, &state, &delivery)
        }
        lastRevision.store(state.last, ordering: .releasing)
        guard !state.waiting.isEmpty else {
            return delivery
        }
        let last = state.last
        let ready = state.waiting.filter { $0.revision <= last }
        state.waiting.removeAll { $0.revision <= last }
        delivery.ready = ready.sorted { $0.revision < $1.revision }
        return delivery
    }

    private func add(_ commit: Commit, _ state: inout State, _ delivery: inout Delivery) {
        let entry = Entry(commit)
        state.history.append(entry)
        state.last = commit.revision
        state.byteCount += entry.byteCount
        while state.history.count > limits.commitCountMax
            || state.byteCount > limits.byteCountMax,
            let oldest = state.history.popFirst()
        {
            state.byteCount -= oldest.byteCount
            delivery.drop(oldest.commit)
            // What the commit behind the next one will drop: that takes as long as a request.
            if state.history.count > 1 {
                state.history[1].prefetch()
            }
        }
    }

    /// Forgets the history, and goes on behind a later revision.
    ///
    /// For a store whose state was replaced. Those who follow find that their place is gone.
    package func restart(after revision: Revision) {
        let (former, ready) = state.write { state in
            let former = state
            state = State(last: revision)
            state.waiting = former.waiting.filter { $0.revision > revision }
            lastRevision.store(revision, ordering: .releasing)
            return (former, former.waiting.filter { $0.revision <= revision })
        }
        withExtendedLifetime(former) {
            for answer in ready {
                answer.proceed()
            }
        }
    }

    /// The commits behind a revision.
    package func commits(after revision: Revision, countMax: Int) -> Reading {
        state.read { state in
            guard revision < state.last else {
                return .commits([])
            }
            let count = Int(state.last - revision)
            guard count <= state.history.count else {
                return .gone
            }
            let first = state.history.count - count
            return .commits((first..<first + min(count, countMax)).map { state.history[$0].commit })
        }
    }

    /// Calls `proceed` once all commits up to this revision are delivered.
    ///
    /// At once if they are, else on the thread that delivers the last one: it must not block.
    package func whenReached(_ revision: Revision, _ proceed: @escaping @Sendable () -> Void) {
        let isReached =
            revision <= last
            || state.write { state in
                guard revision > state.last else {
                    return true
                }
                state.waiting.append(Waiting(revision: revision, proceed: proceed))
                return false
            }
        if isReached {
            proceed()
        }
    }
}

extension Commit {
    /// The bytes that a history keeps for the commit alone: it, and the properties that it
    /// replaced.
    fileprivate var historyByteCount: Int {
        var count = 64 + (first?.former?.byteCount ?? 0)
        for effect in others {
            count += 32 + (effect.former?.byteCount ?? 0)
        }
        return count
    }
}
