internal import Dispatch
internal import LatchkeyGuards
internal import LatchkeySync
internal import Synchronization

/// Removes properties whose time is over.
///
/// What expires at one instant is removed by commits of at most ``nameCountMax`` names, in their
/// order: so however much it is, there are few commits for those who follow the store. By the first
/// rules, each property has a commit of its own.
///
/// **Design.** Each table has its properties that expire in the order of their times. The one timer
/// is set for the first of all, so any number of properties costs nothing until then. A turn reads
/// where each table begins, commits what is due, and ends when that is decided. Then the timer is
/// set for what is next.
///
/// A turn forgets the timer's time before it reads the tables. So a property that it has not found
/// sets the timer: its commit is noted after the turn has read its table.
///
/// `state` is guarded by its lock, which is not held while commits are made. The timer is set while
/// it is held, so that the last setting is that for `wakeUp`. The timer and the commits use
/// `queue`, one after the other.
package final class ExpiryQueue: Sendable {
    /// Gives the properties of each table that expire.
    typealias Reads = @Sendable (_ completion: @escaping @Sendable ([ExpiryOrder]) -> Void) -> Void

    private struct State: Sendable {
        /// From a turn's begin until all of its commits are decided.
        var isAtWork = false
        /// The timer does not begin a turn before.
        var nextTurn = DispatchTime(uptimeNanoseconds: 1)
        var reads: Reads?
        /// What changes the store.
        var store: (any CommittingStore)?
    }

    /// How many commits a turn makes at most.
    private static let batchCount = 256
    /// How many names one commit removes at most.
    static let nameCountMax = 1000
    /// The time between the begins of two turns, unless one has left something that is due.
    private static let turnMilliseconds = 5
    /// How long it takes until a commit that was refused is tried again.
    private static let retryMilliseconds = 10

    private let clock: StoreClock
    private let rules: @Sendable () -> RuleLevel
    private let queue = DispatchQueue(label: "latchkey.expiry", qos: .userInitiated)
    /// SAFETY: `nonisolated(unsafe)` because every thread may use an object of Dispatch.
    private nonisolated(unsafe) let timer: any DispatchSourceTimer
    private let state = Synchronized<State, AdaptiveStrategy>(State())
    /// When the timer is set for, in milliseconds; `never` if it is not.
    ///
    /// Written with the lock. Relaxed: who loads it was in a table that a turn reads as well, which
    /// orders both.
    private let wakeUp = Atomic<Int64>(Timestamp.never.milliseconds)
    private let expiredCount = Atomic<UInt64>(0)

    /// - Parameters:
    ///   - clock: The store's clock.
    ///   - rules: By which rules the store decides. They are only raised.
    package init(
        clock: StoreClock = .system,
        rules: @escaping @Sendable () -> RuleLevel = { .current }
    ) {
        self.clock = clock
        self.rules = rules
        unsafe timer = DispatchSource.makeTimerSource(queue: queue)
        unsafe timer.setEventHandler { [weak self] in self?.beginTurn() }
        unsafe timer.activate()
    }

    deinit {
        unsafe timer.cancel()
    }

    /// How many properties were removed because their time was over.
    ///
    /// Relaxed: the number orders nothing.
    package var count: UInt64 { expiredCount.load(ordering: .relaxed) }

    /// Begins to remove properties of tables through a store.
    func start(_ store: any CommittingStore, _ reads: @escaping Reads) {
        state.write { ($0.store, $0.reads) = (store, reads) }
        look()
    }

    /// Looks whether something is due, or will be: properties are there that came by no commit.
    func look() { queue.async { self.beginTurn() } }

    /// Takes notice of a commit.
    package func note(_ commit: Commit) {
        if let first = commit.first { note(first) }
        for effect in commit.others { note(effect) }
    }

    private func note(_ effect: Commit.Effect) {
        if effect.reason == .expired {
            expiredCount.wrappingAdd(1, ordering: .relaxed)
        }
        guard let time = effect.property?.expiry, isEarlier(time) else { return }
        state.write { state in
            if isEarlier(time) { wake(at: time, state) }
        }
    }

    private func isEarlier(_ time: Timestamp) -> Bool {
        time.milliseconds < wakeUp.load(ordering: .relaxed)
    }

    private func wake(at time: Timestamp, _ state: State) {
        wakeUp.store(time.milliseconds, ordering: .relaxed)
        guard time != .never else { return }
        // A timer of Dispatch is bounded by 64 bits of nanoseconds.
        let left = min(max(0, time.milliseconds - clock.now().milliseconds), 86_400_000)
        let deadline = max(.now() + .milliseconds(Int(left)), state.nextTurn)
        unsafe timer.schedule(deadline: deadline, leeway: .milliseconds(1))
    }

    // MARK: a turn

    private func beginTurn() {
        let state = state.write { state -> State? in
            guard state.reads != nil, !state.isAtWork else { return nil }
            state.isAtWork = true
            state.nextTurn = .now() + .milliseconds(Self.turnMilliseconds)
            wakeUp.store(Timestamp.never.milliseconds, ordering: .relaxed)
            return state
        }
        guard let state, let reads = state.reads, let store = state.store else { return }
        // Before the tables are read: what is added after this expires later.
        let now = clock.now()
        reads { [self] orders in
            let due = Due(orders, at: now, rules() >= .second ? Self.nameCountMax : 1)
            queue.async { self.remove(due, store) }
        }
    }

    /// What is due.
    private struct Due: Sendable {
        /// Those of one instant together, and so many that others get their turn soon.
        ///
        /// Where the names of an instant are cut does not depend on what is due beside it.
        private(set) var changes: [Change] = []
        /// When the first property expires that no change names.
        let next: Timestamp

        init(_ orders: [ExpiryOrder], at now: Timestamp, _ nameCountMax: Int) {
            var left = OrderMerge(orders, from: \.start)
            var count = 0
            while changes.count < batchCount, count < ExpiryQueue.nameCountMax,
                let first = left.first, first.isExpired(at: now)
            {
                var names: [(PropertyName, Revision)] = []
                while names.count < nameCountMax, let next = left.first,
                    next.expiry == first.expiry
                {
                    names.append((PropertyName(of: next), next.revision))
                    left.removeFirst()
                }
                count += names.count
                changes.append(Change.expire(names))
            }
            next = left.first?.expiry ?? .never
        }
    }

    private func remove(_ due: Due, _ store: any CommittingStore) {
        let (decided, fails) = (DispatchGroup(), Flag())
        for change in due.changes {
            decided.enter()
            do throws(BacklogFull) {
                try store.commit(change, .here()) { decision in
                    if case .failure = decision { fails.raise() }
                    decided.leave()
                }
            } catch {
                fails.raise()
                decided.leave()
                // The next ones would be refused, too.
                break
            }
        }
        decided.notify(queue: queue) { self.endTurn(due, fails: fails.isRaised) }
    }

    private func endTurn(_ due: Due, fails: Bool) {
        state.write { state in
            state.isAtWork = false
            let known = Timestamp(milliseconds: wakeUp.load(ordering: .relaxed))
            var next = known.milliseconds < due.next.milliseconds ? known : due.next
            if fails {
                next = clock.now()
                state.nextTurn = .now() + .milliseconds(Self.retryMilliseconds)
            } else if next.milliseconds <= clock.now().milliseconds {
                state.nextTurn = .now()
            }
            wake(at: next, state)
        }
    }
}

private final class Flag: Sendable {
    private let value = Atomic(false)

    var isRaised: Bool { value.load(ordering: .acquiring) }

    func raise() { value.store(true, ordering: .releasing) }
}
