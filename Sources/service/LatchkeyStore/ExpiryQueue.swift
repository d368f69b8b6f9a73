internal import Dispatch
internal import LatchkeyGuards
internal import LatchkeySync
internal import Synchronization

/// Removes expired properties.
///
/// Properties that expire at one instant are removed by commits of at most ``nameCountMax`` names,
/// in their order, so that followers of the store get few commits. By the first rules, each
/// property has a commit of its own.
///
/// **Design.** Each table has its properties that expire in the order of their times, and the queue
/// knows the earliest time at which the first one of each can expire. The one timer is set for the
/// first of all, so any number of properties costs nothing until then. A turn reads the tables
/// whose time has come, commits the changes that are due, and ends when these are decided. Then the
/// timer is set for the next time.
///
/// A turn forgets the time of a table before it reads it. So a property that it does not find sets
/// the time again: its commit is noted after the turn has read its table.
///
/// `state` is guarded by its lock, which is not held while commits are made. The timer is set while
/// it is held, so that the last setting is that for `wakeUp`. The timer and the commits use
/// `queue`, one after the other.
package final class ExpiryQueue: Sendable {
    /// Gives the properties of some tables that expire.
    typealias Reads =
        @Sendable (
            _ tables: [Int],
            _ completion: @escaping @Sendable ([ExpiryOrder]) -> Void
        ) -> Void

    private struct State: Sendable {
        /// From the begin of a turn until all of its commits are decided.
        var isAtWork = false
        /// For each table, the earliest expiry of its properties; empty before the start.
        var first: [Timestamp] = []
        /// The time that the timer is set for; `never` if it is not set.
        var wakeUp = Timestamp.never
        /// The timer begins no turn before this time.
        var nextTurn = DispatchTime(uptimeNanoseconds: 1)
        var reads: Reads?
        /// The store that takes the changes.
        var store: (any CommittingStore)?
    }

    /// The maximum of commits of a turn.
    private static let batchCount = 256
    /// The maximum of names that one commit removes.
    static let nameCountMax = 1000
    /// The time between the begins of two turns, unless the first one has left due properties.
    private static let turnMilliseconds = 5
    /// The time until a refused commit is tried again.
    private static let retryMilliseconds = 10

    private let clock: StoreClock
    private let rules: @Sendable () -> RuleLevel
    private let queue = DispatchQueue(label: "latchkey.expiry", qos: .userInitiated)
    /// SAFETY: `nonisolated(unsafe)` because every thread may use an object of Dispatch.
    private nonisolated(unsafe) let timer: any DispatchSourceTimer
    private let state = Synchronized<State, AdaptiveStrategy>(State())
    private let expiredCount = Atomic<UInt64>(0)

    /// - Parameters:
    ///   - clock: The store's clock.
    ///   - rules: The rules by which the store decides. Their level only rises.
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

    /// How many expired properties were removed.
    ///
    /// Relaxed: the number orders nothing.
    package var count: UInt64 { expiredCount.load(ordering: .relaxed) }

    /// Begins to remove properties of so many tables through a store.
    func start(_ tableCount: Int, _ store: any CommittingStore, _ reads: @escaping Reads) {
        state.write { state in
            (state.store, state.reads) = (store, reads)
            state.first = Array(repeating: .never, count: tableCount)
        }
    }

    /// Looks for properties that expire: loaded ones did not pass through a commit.
    func look() {
        state.write { state in
            for table in state.first.indices { state.first[table].milliseconds = .min }
        }
        queue.async { self.beginTurn() }
    }

    /// Takes notice of a commit.
    package func note(_ commit: Commit) {
        if let first = commit.first { note(first) }
        for effect in commit.others { note(effect) }
    }

    private func note(_ effect: Commit.Effect) {
        if effect.reason == .expired {
            expiredCount.wrappingAdd(1, ordering: .relaxed)
        }
        guard let property = effect.property, property.isMortal else { return }
        let (name, time) = (PropertyName(of: property), property.expiry)
        state.write { state in
            guard !state.first.isEmpty else { return }
            let table = name.stripe(of: state.first.count)
            guard time.milliseconds < state.first[table].milliseconds else { return }
            state.first[table] = time
            if time.milliseconds < state.wakeUp.milliseconds { wake(at: time, &state) }
        }
    }

    private func wake(at time: Timestamp, _ state: inout State) {
        state.wakeUp = time
        guard time != .never else { return }
        // A timer of Dispatch is limited to 64 bits of nanoseconds.
        let now = clock.now().milliseconds
        let left = time.milliseconds <= now ? 0 : min(time.milliseconds - now, 86_400_000)
        let deadline = max(.now() + .milliseconds(Int(left)), state.nextTurn)
        unsafe timer.schedule(deadline: deadline, leeway: .milliseconds(1))
    }

    /// Sets the timer for the first of all.
    private func wake(_ state: inout State) {
        let first = state.first.min { $0.milliseconds < $1.milliseconds }
        wake(at: first ?? .never, &state)
    }

    // MARK: a turn

    private func beginTurn() {
        // Before the tables are read: properties that are added later expire later.
        let now = clock.now()
        let (tables, state) = state.write { state -> ([Int], State?) in
            guard !state.isAtWork else { return ([], nil) }
            let tables = state.first.indices.filter {
                state.first[$0].milliseconds <= now.milliseconds
            }
            guard !tables.isEmpty else {
                wake(&state)
                return ([], nil)
            }
            for table in tables { state.first[table] = .never }
            state.isAtWork = true
            state.wakeUp = .never
            state.nextTurn = .now() + .milliseconds(Self.turnMilliseconds)
            return (tables, state)
        }
        guard let reads = state?.reads, let store = state?.store else { return }
        reads(tables) { [self] orders in
            let due = Due(tables, orders, at: now, rules() >= .second ? Self.nameCountMax : 1)
            queue.async { self.remove(due, store) }
        }
    }

    /// The changes that are due.
    private struct Due: Sendable {
        /// Changes of one instant each, limited in number so that others get their turn soon.
        ///
        /// The split of an instant's names does not depend on other instants.
        private(set) var changes: [Change] = []
        /// For each table that was read, the expiry of its first property that no change names.
        private(set) var next: [(table: Int, time: Timestamp)] = []

        init(_ tables: [Int], _ orders: [ExpiryOrder], at now: Timestamp, _ nameCountMax: Int) {
            var last: Property?
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
                    last = next
                    left.removeFirst()
                }
                count += names.count
                changes.append(Change.expire(names))
            }
            for (table, order) in zip(tables, orders) {
                let place = order.position { property in
                    last.map { !ExpirySorting.precedes($0, property) } ?? false
                }
                next.append((table, order[place]?.expiry ?? .never))
            }
        }
    }

    private func remove(_ due: Due, _ store: any CommittingStore) {
        let (decided, misses, fails) = (DispatchGroup(), Flag(), Flag())
        for change in due.changes {
            decided.enter()
            do throws(BacklogFull) {
                try store.commit(change, .here()) { decision in
                    if case .failure(let refusal) = decision {
                        // A miss: the property was renewed, or removed by another replica.
                        refusal.isOfStore ? fails.raise() : misses.raise()
                    }
                    decided.leave()
                }
            } catch {
                fails.raise()
                decided.leave()
                // The next ones would be refused, too.
                break
            }
        }
        decided.notify(queue: queue) {
            self.endTurn(due, misses: misses.isRaised, fails: fails.isRaised)
        }
    }

    /// - Parameters:
    ///   - due: The changes that the turn has found.
    ///   - misses: Whether a change had nothing to remove: its table is read again.
    ///   - fails: Whether the store has refused a change, which is tried again.
    private func endTurn(_ due: Due, misses: Bool, fails: Bool) {
        let now = clock.now()
        state.write { state in
            state.isAtWork = false
            var isLeft = false
            for (table, time) in due.next {
                isLeft = isLeft || time.milliseconds <= now.milliseconds
                let next = misses || fails ? now : time
                guard next.milliseconds < state.first[table].milliseconds else { continue }
                state.first[table] = next
            }
            if fails {
                state.nextTurn = .now() + .milliseconds(Self.retryMilliseconds)
            } else if isLeft {
                state.nextTurn = .now()
            }
            wake(&state)
        }
    }
}

private final class Flag: Sendable {
    private let value = Atomic(false)

    var isRaised: Bool { value.load(ordering: .acquiring) }

    func raise() { value.store(true, ordering: .releasing) }
}
