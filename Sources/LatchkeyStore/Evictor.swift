internal import Dispatch
internal import LatchkeySync
internal import Synchronization

/// Removes the properties that were not used for the longest time, each by a commit, when the store
/// is full.
///
/// **Design.** A list of all properties in the order of their use would be written by every read.
/// Instead, a use writes its number into the property, and the properties of the lowest numbers are
/// looked for when they are needed: a scan of a snapshot finds the sixteenth of all properties that
/// was not used for the longest time. They are removed in that order; one that was used since the
/// scan is passed over. So the order is exact, and a removal costs the scan of sixteen properties.
///
/// A scan takes no lock. The next one begins when half of the last one's properties are used up.
@usableFromInline
package final class Evictor: Sendable {
    private struct Candidate: Sendable {
        let property: Property
        /// The number of its last use at the scan.
        let use: UInt64
    }

    private struct State: Sendable {
        /// The candidates, that of the earliest use last.
        var candidates: [Candidate] = []
        var countAtScan = 0
        var isScanning = false
        /// Those who wait for the end of the scan.
        var waiting: [@Sendable () -> Void] = []
    }

    /// What the evictor uses of the store.
    private struct Users: Sendable {
        let commit: @Sendable (Change, @escaping @Sendable (Decision) -> Void) -> Bool
        let snapshot: @Sendable (@escaping @Sendable (StoreSnapshot) -> Void) -> Void
    }

    /// One in this many properties is a candidate.
    private static let share = 16
    /// How many removals can be made in one call of another, before the stack is left.
    private static let depthMax = 8
    /// How often room is made for one change before it is refused: others may take the room.
    @usableFromInline static let attemptsMax = 32

    private let queue = DispatchQueue(label: "latchkey.eviction", qos: .userInitiated)
    private let state = Synchronized<State, AdaptiveStrategy>(State())
    private let users = Synchronized<Users?, AdaptiveStrategy>(nil)
    private let evictedCount = Atomic<UInt64>(0)
    private let byteCountMax: Int

    /// - Parameter byteCountMax: The store's bound on bytes.
    package init(byteCountMax: Int = .max) {
        self.byteCountMax = byteCountMax
    }

    /// How many properties were removed to make room.
    ///
    /// Relaxed: the number orders nothing.
    package var count: UInt64 { evictedCount.load(ordering: .relaxed) }

    /// Begins to remove properties from a store.
    package func start(_ store: some CommittingStore) {
        let users = Users(
            commit: { change, completion in
                do throws(BacklogFull) {
                    try store.commit(change, observer: NoObserver(), completion: completion)
                    return true
                } catch {
                    return false
                }
            },
            snapshot: { store.snapshot(completion: $0) }
        )
        self.users.write { $0 = users }
    }

    /// Removes properties until there is room for as much as the change writes.
    ///
    /// - Parameters:
    ///   - change: The change. Properties that it names are not removed.
    ///   - completion: Told whether anything was removed.
    @usableFromInline
    func makeRoom(for change: Change, completion: @escaping @Sendable (Bool) -> Void) {
        let steps = change.steps
        // Else everything would be removed for a value that has no room in an empty store either.
        guard steps.allSatisfy({ $0.byteCountMax <= byteCountMax }) else {
            completion(false)
            return
        }
        let need = steps.reduce(StoreSize()) { size, step in
            StoreSize(
                propertyCount: size.propertyCount + 1,
                byteCount: size.byteCount + step.byteCountMax
            )
        }
        let hashes = Set(steps.map(\.name.hash))
        evict(Goal(need: need, spared: hashes), freed: StoreSize(), completion: completion)
    }

    private struct Goal: Sendable {
        let need: StoreSize
        /// The hashes of the names that are not removed.
        let spared: Set<UInt64>

        func isReached(_ freed: StoreSize) -> Bool {
            freed.propertyCount >= need.propertyCount && freed.byteCount >= need.byteCount
        }
    }

    /// Removes one property after the other until the goal is reached.
    ///
    /// Where the store calls the completion of a commit before it returns, each removal is made in
    /// the call of the one before: a long value can take the place of many short ones.
    private func evict(
        _ goal: Goal,
        freed: StoreSize,
        depth: Int = 0,
        completion: @escaping @Sendable (Bool) -> Void
    ) {
        guard !goal.isReached(freed) else {
            completion(true)
            return
        }
        guard depth < Self.depthMax else {
            queue.async { [self] in evict(goal, freed: freed, completion: completion) }
            return
        }
        guard let users = users.read({ $0 }) else {
            completion(false)
            return
        }
        next(users, goal, mayScan: true) { [self] property in
            guard let property else {
                completion(freed.propertyCount > 0)
                return
            }
            let isAccepted = users.commit(.evict(property)) { [self] decision in
                var freed = freed
                if case .success = decision {
                    evictedCount.wrappingAdd(1, ordering: .relaxed)
                    freed += StoreSize(property)
                }
                evict(goal, freed: freed, depth: depth + 1, completion: completion)
            }
            if !isAccepted {
                completion(freed.propertyCount > 0)
            }
        }
    }

    /// Finds the property that was not used for the longest time; nil if there is none.
    private func next(
        _ users: Users,
        _ goal: Goal,
        mayScan: Bool,
        completion: @escaping @Sendable (Property?) -> Void
    ) {
        let (found, scans) = state.write { state in
            var found: Property?
            while found == nil, let candidate = state.candidates.popLast() {
                let property = candidate.property
                if property.lastUse == candidate.use,
                    !goal.spared.contains(PropertyName(of: property).hash)
                {
                    found = property
                }
            }
            let isLow = state.candidates.count <= state.countAtScan / 2
            let scans = isLow && !state.isScanning && (found != nil || mayScan)
            if scans {
                state.isScanning = true
            }
            if found == nil, mayScan {
                state.waiting.append { [weak self] in
                    self?.next(users, goal, mayScan: false, completion: completion)
                }
            }
            return (found, scans)
        }
        if scans {
            // A small store has candidates beside those that are spared.
            let countMin = goal.spared.count + Self.share
            users.snapshot { [weak self] snapshot in self?.scan(snapshot, countMin: countMin) }
        }
        if found != nil || !mayScan {
            completion(found)
        }
    }

    /// Finds the properties of the earliest uses.
    private func scan(_ snapshot: StoreSnapshot, countMin: Int) {
        queue.async { [self] in
            var uses: [UInt64] = []
            snapshot.visit { uses.append($0.lastUse) }
            uses.sort()
            let count = max(uses.count / Self.share, min(uses.count, countMin))
            let last = uses.isEmpty ? 0 : uses[count - 1]
            var candidates: [Candidate] = []
            snapshot.visit { property in
                let use = property.lastUse
                if use <= last {
                    candidates.append(Candidate(property: property, use: use))
                }
            }
            candidates.sort { $0.use > $1.use }
            let waiting = state.write { [candidates] state in
                state.candidates = candidates
                state.countAtScan = candidates.count
                state.isScanning = false
                defer { state.waiting = [] }
                return state.waiting
            }
            for proceed in waiting {
                proceed()
            }
        }
    }
}

extension Change.Step {
    /// The bytes that the step can add.
    fileprivate var byteCountMax: Int {
        switch action {
        case .put(let value), .merge(let value): unsafe name.bytes.count + value.count
        case .increment: unsafe name.bytes.count + 20
        case .get, .delete, .expire, .evict: 0
        }
    }
}
