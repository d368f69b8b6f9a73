internal import LatchkeySync
internal import Synchronization

/// The latest commits of a store, in the order of their revisions.
///
/// It is the one source for all that follow the store: watches, long polls, histories.
///
/// **Design.** A commit is given to the journal after its guarded section, by the thread that made
/// it, so commits arrive a little out of order. One that is early waits in `early`. ``last`` grows
/// only over commits without a gap. The journal's lock is held for the exchange of an entry in the
/// ``CommitHistory``; commits that it drops are freed outside. Nothing is called while it is held.
///
/// Its users keep a place, not a queue: a revision from which they read when they like. So a slow
/// user costs nothing, and the only memory is the history.
package final class Journal: Sendable {
    private struct Waiting: Sendable {
        let revision: Revision
        let proceed: @Sendable () -> Void
    }

    private struct State: Sendable {
        var history: CommitHistory
        var early: [Revision: Commit] = [:]
        var waiting: [Waiting] = []
    }

    /// The work that is left after a commit was added, to be done outside the lock.
    private struct Delivery {
        /// Commits to free: usually one, for which no array is made.
        private var dropped: Commit?
        private var droppedOthers: [Commit] = []
        /// The calls that waited for the commit, in order.
        var ready: [Waiting] = []

        mutating func drop(_ commit: Commit) {
            if dropped == nil {
                dropped = commit
            } else {
                droppedOthers.append(commit)
            }
        }
    }

    /// The result of a read.
    package enum Reading: Sendable {
        /// The commits after the place, in order, and the revision up to which these are all.
        ///
        /// If the store has no later commit, that is the place.
        case commits([Commit], through: Revision)
        /// Not all commits after the place are still held.
        case gone
    }

    /// The revision before the first commit of the store.
    ///
    /// A journal that goes on after a restart begins at a later one.
    package let start: Revision
    private let lastRevision: Atomic<Revision>
    private let state: Synchronized<State, AdaptiveStrategy>

    /// - Parameters:
    ///   - limits: The limits of the history.
    ///   - revision: The revision before the first commit that is appended.
    ///   - start: The revision before the first commit of the store, if that is another one.
    package init(
        _ limits: HistoryLimits,
        after revision: Revision = 0,
        start: Revision? = nil
    ) {
        self.start = start ?? revision
        lastRevision = Atomic(revision)
        state = Synchronized(State(history: CommitHistory(limits, after: revision)))
    }

    /// The latest commit that is delivered, with all before it.
    ///
    /// Acquiring: pairs with the store in ``append(_:)``.
    package var last: Revision { lastRevision.load(ordering: .acquiring) }

    /// The lowest revision after which all commits are held that can concern names with one of
    /// these prefixes.
    package func oldest(of prefixes: [[UInt8]]) -> Revision {
        state.read { $0.history.oldest(of: prefixes) }
    }

    /// The lowest revision after which all commits are held.
    package var oldest: Revision { oldest(of: [[]]) }

    /// The lowest revision after which all commits are held, except expiries.
    package var oldestKept: Revision { state.read { $0.history.oldestKept } }

    /// The lowest revision after which files keep the commits for the next start.
    package var oldestStored: Revision { state.read { $0.history.oldestStored } }

    /// The revision that a client names.
    ///
    /// 0 stands for the one before the first commit, because every store begins empty.
    package func named(_ revision: Revision) -> Revision {
        revision == 0 ? start : revision
    }

    /// How many commits are held, and how many bytes only they keep.
    package var usage: (commitCount: Int, byteCount: Int) {
        state.read { $0.history.usage }
    }

    /// Takes a commit.
    ///
    /// Called once for each revision, from any thread and in any order.
    package func append(_ commit: Commit) {
        let commit = commit.withoutOutcome
        let delivery = state.write { state in
            guard commit.revision == state.history.last + 1 else {
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

    /// Adds the next commit, and the early ones that follow it.
    private func deliver(_ commit: Commit, _ state: inout State) -> Delivery {
        var delivery = Delivery()
        state.history.add(commit) { delivery.drop($0) }
        while !state.early.isEmpty,
            let next = state.early.removeValue(forKey: state.history.last + 1)
        {
            state.history.add(next) { delivery.drop($0) }
        }
        let last = state.history.last
        lastRevision.store(last, ordering: .releasing)
        guard !state.waiting.isEmpty else {
            return delivery
        }
        let ready = state.waiting.filter { $0.revision <= last }
        state.waiting.removeAll { $0.revision <= last }
        delivery.ready = ready.sorted { $0.revision < $1.revision }
        return delivery
    }

    /// Forgets the history, and goes on after a later revision.
    ///
    /// For a store whose state was replaced. Followers find that their place is gone.
    package func restart(after revision: Revision) {
        let (former, ready) = state.write { state in
            let former = state
            state = State(history: former.history.restarted(after: revision))
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

    /// The commits after a revision.
    ///
    /// - Parameters:
    ///   - revision: The place of the reader.
    ///   - end: Later commits are not read.
    ///   - countMax: The maximum of commits to read.
    ///   - prefixes: The prefixes of the names that concern the reader; without them, all do.
    ///     Expiries of other names can be missing among the commits.
    /// - Returns: The commits, or that some of them are gone.
    package func commits(
        after revision: Revision,
        through end: Revision = .max,
        countMax: Int,
        of prefixes: [[UInt8]] = [[]]
    ) -> Reading {
        state.read {
            $0.history.commits(after: revision, through: end, countMax: countMax, of: prefixes)
        }
    }

    /// Calls `proceed` once all commits up to this revision are delivered.
    ///
    /// At once if they are, else on the thread that delivers the last one: it must not block.
    package func whenReached(_ revision: Revision, _ proceed: @escaping @Sendable () -> Void) {
        let isReached =
            revision <= last
            || state.write { state in
                guard revision > state.history.last else {
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
