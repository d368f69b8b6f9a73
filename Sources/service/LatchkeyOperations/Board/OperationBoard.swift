internal import LatchkeyStore

/// The states of all operations, and the changes between them.
///
/// A plain value without threads, clocks and steps. Each change returns the actions that its user
/// must then take. An operation is `pending` while it waits for its delay or its dependencies,
/// `ready` once it can be given to the queue, and `executing` from the call of ``begin(_:at:)``.
/// When one fails or is cancelled, all that depend on it are cancelled.
struct OperationBoard {
    /// An action that the user of the board must take after a change.
    enum Action: Hashable {
        /// Call ``delayIsOver(_:at:)`` after this time.
        case startTimer(OperationID, Duration)
        case stopTimer(OperationID)
        /// Give the operation to the queue.
        case enqueue(OperationID, OperationPriority)
        /// Ask the operation to stop.
        case interrupt(OperationID)
        /// Tell the observers of the operation.
        case tell(OperationID)
        /// The operation is forgotten.
        case forget(OperationID)
    }

    /// The outcome of the steps of an operation.
    enum Outcome: Sendable {
        case finished(OperationValue?, caught: OperationFailure?)
        case failed(OperationFailure)
        case cancelled
    }

    let limits: OperationLimits
    private var records: [OperationID: OperationRecord] = [:]
    /// The identifiers in the order in which operations were accepted.
    private var order: [(sequence: UInt64, id: OperationID)] = []
    /// The identifiers of ended operations, the one that ended first comes first.
    private var history: [OperationID] = []
    private var sequence: UInt64 = 0
    /// How much memory queued operations and kept values take.
    private(set) var byteCount = 0
    /// The operations that the queue has not given back yet, cancelled ones included.
    private var queuedCount = 0
    private var isDraining = false
    private(set) var counts = OperationCounts()
    private var random: any RandomNumberGenerator & Sendable

    init(
        limits: OperationLimits,
        random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) {
        self.limits = limits
        self.random = random
    }

    var liveCount: Int { records.count - history.count }

    // MARK: Looking

    func operation(_ id: OperationID) -> OperationSnapshot? { records[id]?.shown }

    /// Whether the operation waits for its delay.
    func isDelayed(_ id: OperationID) -> Bool {
        records[id].map { $0.shown.state == .pending && $0.isDelayed } ?? false
    }

    /// The events of an operation with higher numbers than this one; nil if there is no such
    /// operation.
    func events(of id: OperationID, after number: UInt64) -> [OperationEvent]? {
        records[id].map { $0.events.filter { $0.number > number } }
    }

    /// The newest operations, of one state and one owner if they are given, that were accepted
    /// before a place.
    func page(
        state: OperationState?,
        owner: String? = nil,
        limit: Int,
        before: UInt64?
    ) -> OperationPage {
        let end = before.map { place(of: $0) } ?? order.count
        var found: [OperationSnapshot] = []
        for index in order[..<end].indices.reversed() {
            guard let record = records[order[index].id],
                state == nil || record.shown.state == state,
                owner == nil || record.shown.owner == owner
            else { continue }
            if found.count == limit {
                return OperationPage(operations: found, next: order[index].sequence + 1)
            }
            found.append(record.shown)
        }
        return OperationPage(operations: found, next: nil)
    }

    // MARK: Accepting

    /// Accepts all of these plans or none.
    ///
    /// A plan can depend on others of the same call, before and after it.
    mutating func submit(
        _ plans: [OperationPlan],
        at time: Timestamp
    ) throws(OperationRefusal) -> (ids: [OperationID], actions: [Action]) {
        guard !isDraining else { throw .draining }
        var ids: [OperationID] = []
        var isTaken: Set<OperationID> = []
        for plan in plans {
            let id = plan.id ?? unusedID(besides: isTaken)
            guard records[id] == nil, isTaken.insert(id).inserted else { throw .exists(id) }
            ids.append(id)
        }
        for dependency in plans.flatMap(\.dependencies)
        where records[dependency] == nil && !isTaken.contains(dependency) {
            throw .unknownDependency(dependency)
        }
        let sorted = try Self.dependenciesFirst(Array(zip(ids, plans)))
        // The queue gives a cancelled operation back only when there is a place to execute it.
        guard liveCount + plans.count <= limits.countMax,
            queuedCount + plans.count <= 2 * limits.countMax
        else { throw .tooMany }
        let added = plans.reduce(0) { $0 + $1.byteCount }
        var actions: [Action] = []
        guard makeRoom(for: added, sparing: Set(plans.flatMap(\.dependencies)), &actions) else {
            throw .tooManyBytes
        }
        for (id, plan) in sorted {
            add(id, plan, at: time, &actions)
        }
        return (ids, actions)
    }

    /// The plans in an order in which each one comes after those that it depends on.
    private static func dependenciesFirst(
        _ plans: [(OperationID, OperationPlan)]
    ) throws(OperationRefusal) -> [(OperationID, OperationPlan)] {
        let own = Set(plans.map(\.0))
        var sorted: [(OperationID, OperationPlan)] = []
        var placed: Set<OperationID> = []
        var rest = plans
        while !rest.isEmpty {
            let free = rest.filter { plan in
                plan.1.dependencies.allSatisfy { !own.contains($0) || placed.contains($0) }
            }
            guard !free.isEmpty else { throw .cycle }
            sorted += free
            placed.formUnion(free.map(\.0))
            rest.removeAll { placed.contains($0.0) }
        }
        return sorted
    }

    private mutating func add(
        _ id: OperationID,
        _ plan: OperationPlan,
        at time: Timestamp,
        _ actions: inout [Action]
    ) {
        sequence += 1
        var open: Set<OperationID> = []
        var lost: OperationID?
        for dependency in plan.dependencies {
            switch records[dependency]?.shown.state {
            case .finished: break
            case .failed, .cancelled, nil: lost = lost ?? dependency
            case .pending, .ready, .executing: open.insert(dependency)
            }
        }
        for dependency in open {
            records[dependency]?.dependents.append(id)
        }
        let snapshot = OperationSnapshot(
            id: id,
            owner: plan.owner,
            name: plan.name,
            priority: plan.priority,
            dependencies: plan.dependencies,
            state: .pending,
            stepCount: plan.steps.count,
            created: time
        )
        let record = OperationRecord(sequence: sequence, snapshot, plan, openDependencies: open)
        records[id] = record
        order.append((sequence, id))
        byteCount += record.byteCount
        counts.byState[.pending, default: 0] += 1
        if let lost {
            end(id, .cancelled, .dependency(lost), at: time, &actions)
        } else if plan.delay > .zero {
            actions.append(.startTimer(id, plan.delay))
        }
        releaseIfFree(id, &actions)
    }

    private mutating func unusedID(besides taken: Set<OperationID>) -> OperationID {
        var id: OperationID
        repeat {
            id = OperationID(random: random.next())
        } while records[id] != nil || taken.contains(id)
        return id
    }
}

// MARK: Changing

extension OperationBoard {
    mutating func delayIsOver(_ id: OperationID) -> [Action] {
        var actions: [Action] = []
        if records[id]?.shown.state == .pending {
            records[id]?.isDelayed = false
            releaseIfFree(id, &actions)
        }
        return actions
    }

    /// Begins to execute an operation that the queue has chosen.
    ///
    /// Nil if it was cancelled meanwhile.
    mutating func begin(_ id: OperationID, at time: Timestamp) -> (OperationPlan, [Action])? {
        guard let plan = records[id]?.plan, records[id]?.shown.state == .ready else {
            return nil
        }
        change(id, to: .executing) { $0.started = time }
        return (plan, [.tell(id)])
    }

    mutating func advance(
        _ id: OperationID,
        step: Int,
        stepCount: Int,
        progress: Double
    ) -> [Action] {
        guard records[id]?.shown.state == .executing else { return [] }
        records[id]?.advance(step: step, stepCount: stepCount, progress: progress)
        return [.tell(id)]
    }

    /// Ends an operation that was executing, and cancels those that depend on it unless it
    /// finished.
    mutating func end(_ id: OperationID, _ outcome: Outcome, at time: Timestamp) -> [Action] {
        var actions: [Action] = []
        guard records[id]?.shown.state == .executing else { return actions }
        switch outcome {
        case .finished(let value, let caught):
            end(id, .finished, caught, value: value, at: time, &actions)
        case .failed(let failure):
            end(id, .failed, failure, at: time, &actions)
        case .cancelled:
            end(id, .cancelled, nil, at: time, &actions)
        }
        return actions
    }

    /// Cancels an operation: at once if it does not execute yet; otherwise it is asked to stop.
    ///
    /// An operation that has ended stays as it is. Nil if there is no such operation.
    mutating func cancel(_ id: OperationID, at time: Timestamp) -> [Action]? {
        guard let state = records[id]?.shown.state else { return nil }
        var actions: [Action] = []
        switch state {
        case .pending, .ready:
            end(id, .cancelled, nil, at: time, &actions)
        case .executing:
            actions.append(.interrupt(id))
        case .finished, .failed, .cancelled:
            break
        }
        return actions
    }

    /// Counts an operation that the queue has given back.
    mutating func leaveQueue() {
        queuedCount -= 1
    }

    /// Accepts no more operations, and cancels those that are there.
    mutating func drain(at time: Timestamp) -> [Action] {
        isDraining = true
        return order.map(\.id).flatMap { cancel($0, at: time) ?? [] }
    }

    private mutating func change(
        _ id: OperationID,
        to state: OperationState,
        _ edit: (inout OperationSnapshot) -> Void = { _ in }
    ) {
        guard let former = records[id] else { return }
        records[id]?.change(to: state, edit)
        counts.byState[former.shown.state, default: 0] -= 1
        counts.byState[state, default: 0] += 1
        byteCount += (records[id]?.byteCount ?? 0) - former.byteCount
    }

    private mutating func releaseIfFree(_ id: OperationID, _ actions: inout [Action]) {
        guard let record = records[id], record.shown.state == .pending, !record.isBlocked else {
            return
        }
        change(id, to: .ready)
        queuedCount += 1
        actions += [.tell(id), .enqueue(id, record.shown.priority)]
    }

    /// Ends an operation and, one after the other, all that depend on it if it did not finish.
    private mutating func end(
        _ first: OperationID,
        _ outcome: OperationState,
        _ failure: OperationFailure?,
        value: OperationValue? = nil,
        at time: Timestamp,
        _ actions: inout [Action]
    ) {
        var waiting: [(OperationID, OperationState, OperationFailure?)] = [
            (first, outcome, failure)
        ]
        while let (id, state, failure) = waiting.popLast() {
            guard let record = records[id], !record.shown.state.isFinal else { continue }
            if record.isDelayed { actions.append(.stopTimer(id)) }
            for dependency in record.openDependencies {
                records[dependency]?.dependents.removeAll { $0 == id }
            }
            change(id, to: state) { shown in
                shown.ended = time
                shown.failure = failure
                shown.value = state == .finished ? value : nil
                if state == .finished { shown.progress = 1 }
            }
            counts.totalByOutcome[state, default: 0] += 1
            history.append(id)
            actions.append(.tell(id))
            for dependent in record.dependents {
                if state == .finished {
                    records[dependent]?.openDependencies.remove(id)
                    releaseIfFree(dependent, &actions)
                } else {
                    waiting.append((dependent, .cancelled, .dependency(id)))
                }
            }
        }
    }
}

// MARK: Forgetting

extension OperationBoard {
    /// Forgets the operations that ended first, down to the limits.
    ///
    /// Separate from the changes that end operations, so that their ends can be shown first.
    mutating func trim() -> [Action] {
        var actions: [Action] = []
        for id in history.prefix(max(0, history.count - limits.historyCountMax)) {
            forget(id, &actions)
        }
        history.removeFirst(actions.count)
        _ = makeRoom(for: 0, sparing: [], &actions)
        return actions
    }

    /// Forgets ended operations until there is room for this many bytes.
    private mutating func makeRoom(
        for added: Int,
        sparing kept: Set<OperationID>,
        _ actions: inout [Action]
    ) -> Bool {
        guard byteCount + added > limits.byteCountMax else { return true }
        let ended = history.reduce(0) { $0 + (kept.contains($1) ? 0 : byteCount(of: $1)) }
        guard byteCount - ended + added <= limits.byteCountMax else { return false }
        var index = 0
        while byteCount + added > limits.byteCountMax, index < history.count {
            if kept.contains(history[index]) {
                index += 1
            } else {
                forget(history.remove(at: index), &actions)
            }
        }
        return true
    }

    private func byteCount(of id: OperationID) -> Int { records[id]?.byteCount ?? 0 }

    private mutating func forget(_ id: OperationID, _ actions: inout [Action]) {
        guard let record = records.removeValue(forKey: id) else { return }
        order.remove(at: place(of: record.sequence))
        counts.byState[record.shown.state, default: 0] -= 1
        byteCount -= record.byteCount
        actions.append(.forget(id))
    }

    /// The index in `order` of the first operation whose sequence is at least this.
    private func place(of sequence: UInt64) -> Int {
        var (low, high) = (0, order.count)
        while low < high {
            let middle = (low + high) / 2
            if order[middle].sequence < sequence {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }
}
