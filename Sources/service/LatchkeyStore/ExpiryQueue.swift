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
/// **Design.** A heap has the name, revision and time of each property that expires. The one timer
/// is set for the first of them, so any number of properties costs nothing until then. A property
/// that is replaced leaves its entry behind, which does nothing when its time comes, because the
/// revision is another one. When there have been as many additions as twice the entries that were
/// left at the last time, the heap is made anew from the store: so old entries are at most two
/// thirds of it.
///
/// `state` is guarded by its lock, which is not held while commits are made. The timer is set while
/// it is held, so that the last setting is that for `wakeUp`. The timer and the commits use
/// `queue`, one after the other.
package final class ExpiryQueue: Sendable {
    private struct Entry: Precedable, Sendable {
        let expiry: Timestamp
        let revision: Revision
        let name: PropertyName

        /// In the order of times, and at one instant in that of names.
        func precedes(_ other: Entry) -> Bool {
            guard expiry == other.expiry else {
                return expiry.milliseconds < other.expiry.milliseconds
            }
            return unsafe name.bytes.precedes(other.name.bytes)
        }
    }

    private struct State: Sendable {
        var heap = BinaryHeap<Entry>()
        var additionsUntilRebuild = ExpiryQueue.slackCount
        var isRebuilding = false
        /// Whether the heap is to be made anew once more: it was asked for meanwhile.
        var rebuildsAgain = false
        /// Entries that come while the heap is made anew.
        var added: [Entry] = []
        /// When the timer is set for; `never` if it is not.
        var wakeUp = Timestamp.never
        /// Before this time nothing is tried: the store has refused commits.
        var pauseEnd = Timestamp(milliseconds: .min)
        var store: (any CommittingStore)?
    }

    /// How many entries may be added before the heap is made anew, for a small store.
    private static let slackCount = 10_000
    /// How many commits are made before the next ones, so that others get their turn.
    private static let batchCount = 256
    /// How many names one commit removes at most.
    static let nameCountMax = 1000
    /// How long it takes until a commit that was refused for the backlog is tried again.
    private static let retryMilliseconds: Int64 = 10

    private let clock: StoreClock
    private let rules: @Sendable () -> RuleLevel
    private let queue = DispatchQueue(label: "latchkey.expiry", qos: .userInitiated)
    /// SAFETY: `nonisolated(unsafe)` because every thread may use an object of Dispatch.
    private nonisolated(unsafe) let timer: any DispatchSourceTimer
    private let state = Synchronized<State, AdaptiveStrategy>(State())
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
        unsafe timer.setEventHandler { [weak self] in self?.run() }
        unsafe timer.activate()
    }

    deinit {
        unsafe timer.cancel()
    }

    /// How many properties were removed because their time was over.
    ///
    /// Relaxed: the number orders nothing.
    package var count: UInt64 { expiredCount.load(ordering: .relaxed) }

    /// Begins to remove properties from a store, whose commits come to ``note(_:)``.
    ///
    /// Call it once. The store is kept from then on, so one that refers to the queue is never
    /// freed: a store lives as long as its process.
    package func start(_ store: any CommittingStore) {
        state.write { $0.store = store }
        queue.async { self.run() }
    }

    /// Takes the properties that expire from the store.
    ///
    /// Called when properties are there that came by no commit.
    package func rebuild() {
        let store = state.write { state -> (any CommittingStore)? in
            guard let store = state.store, !state.isRebuilding else {
                state.rebuildsAgain = state.isRebuilding
                return nil
            }
            state.isRebuilding = true
            return store
        }
        store?.snapshot(.here()) { [weak self] snapshot in self?.rebuild(snapshot) }
    }

    /// Takes the properties of a commit that expire.
    package func note(_ commit: Commit) {
        if commit.first?.reason == .expired {
            expiredCount.wrappingAdd(1, ordering: .relaxed)
        }
        if let property = commit.first?.property, property.isMortal {
            add(property)
        }
        for effect in commit.others {
            if effect.reason == .expired {
                expiredCount.wrappingAdd(1, ordering: .relaxed)
            }
            if let property = effect.property, property.isMortal {
                add(property)
            }
        }
    }

    private func add(_ property: Property) {
        let entry = Entry(
            expiry: property.expiry,
            revision: property.revision,
            name: PropertyName(of: property).copy()
        )
        let rebuild = state.write { state in
            if state.isRebuilding {
                state.added.append(entry)
            }
            state.heap.insert(entry)
            state.additionsUntilRebuild -= 1
            let rebuild = state.additionsUntilRebuild <= 0 && !state.isRebuilding
            if rebuild {
                state.isRebuilding = true
            }
            if entry.expiry.milliseconds < state.wakeUp.milliseconds {
                wake(at: entry.expiry, &state)
            }
            return rebuild ? state.store : nil
        }
        rebuild?.snapshot(.here()) { [weak self] snapshot in self?.rebuild(snapshot) }
    }

    /// Tries expiries again that the store could not keep.
    private func retry(_ entries: [Entry]) {
        state.write { state in
            for entry in entries {
                if state.isRebuilding {
                    state.added.append(entry)
                }
                state.heap.insert(entry)
            }
            pause(&state)
            if let first = state.heap.first, first.expiry.milliseconds < state.wakeUp.milliseconds {
                wake(at: first.expiry, &state)
            }
        }
    }

    private func pause(_ state: inout State) {
        state.pauseEnd.milliseconds = clock.now().milliseconds + Self.retryMilliseconds
    }

    /// Makes the heap anew, without the entries of properties that were replaced.
    private func rebuild(_ snapshot: StoreSnapshot) {
        queue.async { [self] in
            var entries: [Entry] = []
            snapshot.visit { property in
                if property.isMortal {
                    entries.append(
                        Entry(
                            expiry: property.expiry,
                            revision: property.revision,
                            name: PropertyName(of: property).copy()
                        )
                    )
                }
            }
            let isAgain = state.write { [entries] state in
                state.heap = BinaryHeap(entries + state.added)
                state.added = []
                state.isRebuilding = false
                state.additionsUntilRebuild = max(Self.slackCount, 2 * state.heap.count)
                defer { state.rebuildsAgain = false }
                return state.rebuildsAgain
            }
            if isAgain {
                rebuild()
            }
            run()
        }
    }

    private func wake(at time: Timestamp, _ state: inout State) {
        state.wakeUp.milliseconds = max(time.milliseconds, state.pauseEnd.milliseconds)
        let milliseconds = max(0, state.wakeUp.milliseconds - clock.now().milliseconds)
        // A timer of Dispatch is bounded by 64 bits of nanoseconds.
        let delay = Int(min(milliseconds, 86_400_000))
        unsafe timer.schedule(deadline: .now() + .milliseconds(delay), leeway: .milliseconds(1))
    }

    /// Removes what is due, and sets the timer for the next one.
    private func run() {
        let now = clock.now()
        let nameCountMax = rules() >= .second ? Self.nameCountMax : 1
        let (due, store) = state.write { state in
            (Self.due(at: now, &state.heap, nameCountMax), state.store)
        }
        guard let store else {
            return
        }
        var refused: [Entry] = []
        for entries in due {
            let change = Change.expire(entries.map { ($0.name, $0.revision) })
            do throws(BacklogFull) {
                try store.commit(change, .here()) { [weak self] decision in
                    if case .failure(let refusal) = decision, refusal.isOfStore {
                        self?.retry(entries)
                    }
                }
            } catch {
                refused += entries
            }
        }
        state.write { [refused] state in
            for entry in refused {
                state.heap.insert(entry)
            }
            if !refused.isEmpty {
                pause(&state)
            }
            if let next = state.heap.first {
                wake(at: next.expiry, &state)
            } else {
                state.wakeUp = .never
            }
        }
    }

    /// Takes what is due: those of one instant together, and so many that others get their turn
    /// soon.
    ///
    /// Where the names of an instant are cut does not depend on what is due beside it.
    private static func due(
        at now: Timestamp,
        _ heap: inout BinaryHeap<Entry>,
        _ nameCountMax: Int
    ) -> [[Entry]] {
        var due: [[Entry]] = []
        var count = 0
        while due.count < batchCount, count < Self.nameCountMax, let first = heap.first,
            first.expiry.milliseconds <= now.milliseconds
        {
            var entries: [Entry] = []
            while entries.count < nameCountMax, let next = heap.first, next.expiry == first.expiry {
                entries.append(next)
                heap.removeFirst()
            }
            count += entries.count
            due.append(entries)
        }
        return due
    }
}
