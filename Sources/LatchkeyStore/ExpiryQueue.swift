internal import Dispatch
internal import LatchkeySync
internal import Synchronization

/// Removes properties whose time is over, each by a commit.
///
/// **Design.** A heap has the name, revision and time of each property that expires. One timer is
/// set for the first of them, for a second at most, so any number of properties costs no more. A
/// property that is replaced leaves its entry behind, which does nothing when its time comes: the
/// revision is another one. When there have been as many additions as twice the entries that were
/// left at the last time, the heap is made anew from the store: so old entries are at most two
/// thirds of it.
///
/// `state` is guarded by its lock, which is not held while commits are made. The timer and the
/// commits use `queue`, one after the other.
@usableFromInline
package final class ExpiryQueue: Sendable {
    private struct Entry: Precedable, Sendable {
        let expiry: Timestamp
        let revision: Revision
        let name: PropertyName

        func precedes(_ other: Entry) -> Bool {
            expiry.milliseconds < other.expiry.milliseconds
        }
    }

    private struct State: Sendable {
        var heap = BinaryHeap<Entry>()
        var additionsUntilRebuild = ExpiryQueue.slackCount
        var isRebuilding = false
        /// Entries that come while the heap is made anew.
        var added: [Entry] = []
        /// When the timer is set for; `never` if it is not.
        var wakeUp = Timestamp.never
        /// The number of the timer that was set last; the earlier ones do nothing.
        var timer: UInt64 = 0
        var users: Users?
    }

    /// What the queue uses of the store.
    private struct Users: Sendable {
        let commit: @Sendable (Change, @escaping @Sendable () -> Void) throws(BacklogFull) -> Void
        let snapshot: @Sendable (@escaping @Sendable (StoreSnapshot) -> Void) -> Void
    }

    /// How many entries may be added before the heap is made anew, for a small store.
    private static let slackCount = 10_000
    /// How many commits are made before the next ones, so that others get their turn.
    private static let batchCount = 256
    /// How long it takes until a commit that was refused for the backlog is tried again.
    private static let retryMilliseconds: Int64 = 10
    /// How long a timer is set for at most.
    ///
    /// One that an earlier time has replaced stays until then.
    private static let timerMillisecondsMax: Int64 = 1000

    private let clock: StoreClock
    private let queue = DispatchQueue(label: "latchkey.expiry", qos: .userInitiated)
    private let state = Synchronized<State, AdaptiveStrategy>(State())
    private let expiredCount = Atomic<UInt64>(0)

    package init(clock: StoreClock = .system) {
        self.clock = clock
    }

    /// How many properties were removed because their time was over.
    ///
    /// Relaxed: the number orders nothing.
    package var count: UInt64 { expiredCount.load(ordering: .relaxed) }

    /// Begins to remove properties from a store, whose commits come to ``note(_:)``.
    package func start(_ store: some CommittingStore) {
        let users = Users(
            commit: { (change, completion) throws(BacklogFull) in
                try store.commit(change, observer: NoObserver()) { [weak self] decision in
                    if case .success = decision {
                        self?.expiredCount.wrappingAdd(1, ordering: .relaxed)
                    }
                    completion()
                }
            },
            snapshot: { store.snapshot(completion: $0) }
        )
        state.write { $0.users = users }
        queue.async { self.run(0) }
    }

    /// Takes the properties of a commit that expire.
    @inline(__always)
    func note(_ commit: Commit) {
        if let property = commit.first?.property, property.isMortal {
            add(property)
        }
        for effect in commit.others {
            if let property = effect.property, property.isMortal {
                add(property)
            }
        }
    }

    @inline(never)
    private func add(_ property: Property) {
        let entry = Entry(
            expiry: property.expiry,
            revision: property.revision,
            name: PropertyName(of: property).copy()
        )
        let (timer, rebuild) = state.write { state in
            if state.isRebuilding {
                state.added.append(entry)
            }
            state.heap.insert(entry)
            state.additionsUntilRebuild -= 1
            let rebuild = state.additionsUntilRebuild <= 0 && !state.isRebuilding
            if rebuild {
                state.isRebuilding = true
                state.added = []
            }
            let isFirst = entry.expiry.milliseconds < state.wakeUp.milliseconds
            if isFirst {
                state.wakeUp = entry.expiry
                state.timer += 1
            }
            return (isFirst ? state.timer : nil, rebuild ? state.users : nil)
        }
        if let timer {
            wake(at: entry.expiry, timer)
        }
        rebuild?.snapshot { [weak self] snapshot in self?.rebuild(snapshot) }
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
            state.write { [entries] state in
                state.heap = BinaryHeap(entries + state.added)
                state.added = []
                state.isRebuilding = false
                state.additionsUntilRebuild = max(Self.slackCount, 2 * state.heap.count)
            }
        }
    }

    private func wake(at time: Timestamp, _ timer: UInt64) {
        let milliseconds = max(0, time.milliseconds - clock.now().milliseconds)
        let delay = Int(min(milliseconds, Self.timerMillisecondsMax))
        queue.asyncAfter(deadline: .now() + .milliseconds(delay)) { [weak self] in
            self?.run(timer)
        }
    }

    /// Removes what is due, and sets the next timer, unless another one was set meanwhile.
    private func run(_ timer: UInt64) {
        let now = clock.now()
        let (due, users) = state.write { state in
            var due: [Entry] = []
            let isLatest = state.timer == timer
            while isLatest, due.count < Self.batchCount, let first = state.heap.first,
                first.expiry.milliseconds <= now.milliseconds
            {
                due.append(first)
                state.heap.removeFirst()
            }
            return (due, isLatest ? state.users : nil)
        }
        guard let users else {
            return
        }
        var refused: [Entry] = []
        for entry in due {
            do throws(BacklogFull) {
                try users.commit(.expire(entry.name, at: entry.revision)) {}
            } catch {
                refused.append(entry)
            }
        }
        let isRefused = !refused.isEmpty
        let (next, nextTimer) = state.write { [refused] state in
            for entry in refused {
                state.heap.insert(entry)
            }
            state.wakeUp = state.heap.first?.expiry ?? .never
            if isRefused {
                state.wakeUp.milliseconds = now.milliseconds + Self.retryMilliseconds
            }
            state.timer += 1
            return (state.wakeUp, state.timer)
        }
        if next != .never {
            wake(at: next, nextTimer)
        }
    }
}
