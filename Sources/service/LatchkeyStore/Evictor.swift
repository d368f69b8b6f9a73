internal import Dispatch
package import LatchkeyGuards
internal import LatchkeySync
internal import Synchronization

/// Removes the least recently used properties, each by a commit, when the store is full.
///
/// **Design.** A list of all properties in the order of their use would be written by every read.
/// Instead, a use writes its number into the property, and the properties of the lowest numbers are
/// looked for when they are needed: a scan of a snapshot finds the least recently used sixteenth of
/// all properties, or a few hundred if that is more. They are removed in that order; one that was
/// used since the scan is dropped. So the order is exact, and a removal costs the scan of sixteen
/// properties.
///
/// A scan takes no lock. The next one begins when half of the last one's properties are used up.
///
/// Each removal is started by the completion of the one before. After every few of them, the next
/// one runs on `queue`, so that the stack stays small however much room is made.
package final class Evictor: Sendable {
    private struct Candidate: Sendable {
        let property: Property
        /// The number of its last use at the scan.
        let use: UInt64
    }

    private struct State: Sendable {
        /// The candidates, the one of the earliest use last.
        var candidates: [Candidate] = []
        var countAtScan = 0
        var isScanning = false
        /// How many scans in a row have found nothing.
        var emptyScanCount = 0
        /// Called at the end of the scan.
        var waiting: [@Sendable () -> Void] = []

        /// Takes the candidate of the earliest use; properties with these names stay.
        mutating func take(sparing spared: Set<UInt64>) -> Property? {
            for index in candidates.indices.reversed() {
                let property = candidates[index].property
                if property.lastUse != candidates[index].use {
                    candidates.remove(at: index)
                } else if !spared.contains(PropertyName(of: property).hash) {
                    candidates.remove(at: index)
                    return property
                }
            }
            return nil
        }
    }

    /// One in this many properties is a candidate.
    private static let share = 16
    /// The minimum of candidates: more than a change can name.
    private static let candidateCountMin = 4 * Change.stepCountMax
    /// The maximum of scans for one removal: others may take the candidates.
    private static let scansMax = 32
    /// After so many scans that find no property unused since their snapshot, any property will do.
    private static let emptyScansMax = 4
    /// The maximum of removals on one stack.
    private static let removalsOnStackMax = 16
    /// The maximum of attempts to make room for one change: others may take the room.
    private static let attemptsMax = 32

    private let queue = DispatchQueue(label: "latchkey.eviction", qos: .userInitiated)
    private let state = Synchronized<State, AdaptiveStrategy>(State())
    private let store = Synchronized<(any CommittingStore)?, AdaptiveStrategy>(nil)
    private let evictedCount = Atomic<UInt64>(0)

    package init() {}

    /// How many properties were removed to make room.
    ///
    /// Relaxed: the number orders nothing.
    package var count: UInt64 { evictedCount.load(ordering: .relaxed) }

    /// Begins to remove properties from a store.
    ///
    /// Call it once. The store is kept from then on, so one that refers to the evictor is never
    /// freed: a store lives as long as its process.
    package func start(_ store: any CommittingStore) {
        self.store.write { $0 = store }
    }

    /// Makes room for a change that found too little, and commits it again.
    @inline(never)
    package func commitAgain(
        _ change: Change,
        _ full: StoreFull,
        _ attempt: Int,
        _ ask: Ask,
        _ receiver: some DecisionReceiver
    ) {
        guard attempt < Self.attemptsMax, let store = store.read({ $0 }) else {
            return receiver.receive(.failure(.full(full)))
        }
        makeRoom(for: change, full) { made in
            switch made {
            case .room: break
            case .nothing: return receiver.receive(.failure(.full(full)))
            case .refused(let refusal): return receiver.receive(.failure(refusal))
            }
            do throws(BacklogFull) {
                try store.commit(change, attempt: attempt + 1, ask, receiver: receiver)
            } catch {
                receiver.receive(.failure(.backlogFull))
            }
        }
    }

    /// Removes properties until the room that a change lacks is free.
    ///
    /// - Parameters:
    ///   - change: The change. Properties that it names are not removed.
    ///   - full: The reason for the refusal.
    ///   - completion: Called with the result.
    private func makeRoom(
        for change: Change,
        _ full: StoreFull,
        completion: @escaping @Sendable (Result) -> Void
    ) {
        guard let need = full.shortage else {
            completion(.nothing)
            return
        }
        let goal = Goal(need: need, spared: Set(change.steps.map(\.name.hash)))
        evict(goal, Removed(), completion: completion)
    }

    /// The result of making room.
    private enum Result: Sendable {
        /// Properties were removed.
        case room
        /// There was nothing to remove.
        case nothing
        /// Nothing was removed: too many changes wait, or the store takes none.
        case refused(Refusal)
    }

    private struct Goal: Sendable {
        let need: StoreSize
        /// The hashes of the names that are not removed.
        let spared: Set<UInt64>
    }

    /// The properties that were removed for one goal.
    private struct Removed: Sendable {
        var size = StoreSize()
        /// How many properties were to be removed, also those that were replaced meanwhile.
        var tryCount = 0
        var result: Result { size.propertyCount > 0 ? .room : .nothing }

        /// The result if a refusal ends the removal.
        func result(_ refusal: Refusal) -> Result {
            size.propertyCount > 0 ? .room : .refused(refusal)
        }

        func reaches(_ goal: Goal) -> Bool {
            size.propertyCount >= goal.need.propertyCount && size.byteCount >= goal.need.byteCount
        }
    }

    private func evict(
        _ goal: Goal,
        _ removed: Removed,
        completion: @escaping @Sendable (Result) -> Void
    ) {
        guard !removed.reaches(goal), let store = store.read({ $0 }) else {
            completion(removed.result)
            return
        }
        next(store, goal, scanCount: 0) { [self] property in
            guard let property else {
                completion(removed.result)
                return
            }
            do throws(BacklogFull) {
                try store.commit(.evict(property), .here()) { [self] decision in
                    var removed = removed
                    removed.tryCount += 1
                    switch decision {
                    case .success:
                        evictedCount.wrappingAdd(1, ordering: .relaxed)
                        removed.size += StoreSize(property)
                    case .failure(let refusal) where refusal.isOfStore:
                        completion(removed.result(refusal))
                        return
                    case .failure:
                        break
                    }
                    guard removed.tryCount % Self.removalsOnStackMax == 0 else {
                        evict(goal, removed, completion: completion)
                        return
                    }
                    queue.async { [self, removed] in evict(goal, removed, completion: completion) }
                }
            } catch {
                completion(removed.result(.backlogFull))
            }
        }
    }

    /// Finds the least recently used property; nil if there is none.
    private func next(
        _ store: any CommittingStore,
        _ goal: Goal,
        scanCount: Int,
        completion: @escaping @Sendable (Property?) -> Void
    ) {
        let isLast = scanCount == Self.scansMax
        let (found, scans) = state.write { state in
            let found = state.take(sparing: goal.spared)
            let isLow = state.candidates.count <= state.countAtScan / 2
            let scans = !state.isScanning && (found == nil ? !isLast : isLow)
            if scans {
                state.isScanning = true
            }
            if found == nil, !isLast {
                state.waiting.append { [weak self] in
                    self?.next(store, goal, scanCount: scanCount + 1, completion: completion)
                }
            }
            return (found, scans)
        }
        if scans {
            store.snapshot(.here()) { [weak self] snapshot in self?.scan(snapshot) }
        }
        if found != nil || isLast {
            completion(found)
        }
    }

    /// Finds the properties of the earliest uses.
    ///
    /// Properties that were used since the snapshot are left out: one that is not in the snapshot
    /// could have been used before them.
    private func scan(_ snapshot: StoreSnapshot) {
        queue.async { [self] in
            let isExact = state.read { $0.emptyScanCount < Self.emptyScansMax }
            let useMax = isExact ? snapshot.useCount : .max
            var uses: [UInt64] = []
            snapshot.visit { property in
                let use = property.lastUse
                if use <= useMax {
                    uses.append(use)
                }
            }
            uses.sort()
            let count = min(max(uses.count / Self.share, Self.candidateCountMin), uses.count)
            var candidates: [Candidate] = []
            if count > 0 {
                let last = uses[count - 1]
                snapshot.visit { property in
                    let use = property.lastUse
                    if use <= last {
                        candidates.append(Candidate(property: property, use: use))
                    }
                }
            }
            candidates.sort { $0.use > $1.use }
            let waiting = state.write { [candidates] state in
                state.candidates = candidates
                state.countAtScan = candidates.count
                state.emptyScanCount = candidates.isEmpty ? state.emptyScanCount + 1 : 0
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

extension StoreFull {
    /// The room that is lacking; nil if more room does not help.
    fileprivate var shortage: StoreSize? {
        switch self {
        case .properties(let count): count.map { StoreSize(propertyCount: $0) }
        case .bytes(let count): count.map { StoreSize(byteCount: $0) }
        case .quota: nil
        }
    }
}
