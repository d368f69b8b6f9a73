/// An operation on the board: its public state, and the things that it waits for.
struct OperationRecord {
    /// The place of the operation in the order in which operations were accepted.
    let sequence: UInt64
    private(set) var shown: OperationSnapshot
    /// The plan of the operation; nil once it has ended, so that the steps are freed.
    private(set) var plan: OperationPlan?
    var isDelayed: Bool
    /// The dependencies that have not finished.
    var openDependencies: Set<OperationID>
    /// Operations that wait for this one.
    var dependents: [OperationID] = []
    /// All changes of state, and the latest progress since the last of them.
    private(set) var events: [OperationEvent] = []
    private var eventCount: UInt64 = 0

    init(
        sequence: UInt64,
        _ shown: OperationSnapshot,
        _ plan: OperationPlan,
        openDependencies: Set<OperationID>
    ) {
        self.sequence = sequence
        self.shown = shown
        self.plan = plan
        self.openDependencies = openDependencies
        isDelayed = plan.delay > .zero
        add(.state)
    }

    /// The memory that counts towards the limit.
    var byteCount: Int {
        (plan?.byteCount ?? 0) + (shown.value?.byteCount ?? 0)
    }

    var isBlocked: Bool { isDelayed || !openDependencies.isEmpty }

    mutating func change(to state: OperationState, _ edit: (inout OperationSnapshot) -> Void) {
        shown.state = state
        edit(&shown)
        if state.isFinal {
            plan = nil
            dependents = []
            openDependencies = []
        }
        add(.state)
    }

    /// Sets the current step, and how much is done.
    mutating func advance(step: Int, stepCount: Int, progress: Double) {
        shown.step = step
        shown.stepCount = stepCount
        shown.progress = max(shown.progress, min(1, progress))
        add(.progress)
    }

    /// Adds an event, and replaces an earlier one of progress: the list stays short.
    private mutating func add(_ kind: OperationEvent.Kind) {
        if let last = events.last, last.kind == .progress {
            events.removeLast()
        }
        eventCount += 1
        events.append(OperationEvent(number: eventCount, kind: kind, operation: shown))
    }
}
