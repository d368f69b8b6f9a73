internal import Dispatch

/// The steps of one operation, made one after the other: a chain of promises.
///
/// Each step is given the value of the one before it. After an error come the steps of `catch`; the
/// first one is given the error.
///
/// **Design.** A serial queue of the operation makes the steps, so that at most one thread works
/// for it, and no other operation uses that thread meanwhile: a step that blocks delays no other
/// operation. A step may complete at once or later, on any thread. The next step is made on the
/// queue, because that thread may serve requests, and because no step may be made inside another.
///
/// SAFETY: `@unchecked Sendable` because `position` is used on the queue alone.
final class StepChain: @unchecked Sendable {
    /// The place that a chain has reached.
    private struct Position {
        var steps: [OperationStep]
        /// How many steps come before those of `steps`: the failed one and those before it.
        var offset = 0
        var index = 0
        var value: OperationValue?
        var caught: OperationFailure?

        var stepCount: Int { offset + steps.count }
        var done: Int { offset + index }
    }

    private let id: OperationID
    private let cancellation: Cancellation
    /// Keeps the memory that the steps borrow.
    private let plan: OperationPlan
    private let environment: OperationEnvironment
    private let advance: @Sendable (Int, Int, Double) -> Void
    private let end: @Sendable (OperationBoard.Outcome) -> Void
    private let queue = DispatchQueue(label: "latchkey.operation", qos: .utility)
    private var position: Position

    /// - Parameters:
    ///   - id: The identifier of the operation.
    ///   - plan: The steps.
    ///   - environment: The environment that the steps use.
    ///   - cancellation: The wish to stop.
    ///   - advance: Called with the number of a step, that of all steps, and the progress.
    ///   - end: Called once, at the end.
    init(
        _ id: OperationID,
        _ plan: OperationPlan,
        _ environment: OperationEnvironment,
        _ cancellation: Cancellation,
        advance: @escaping @Sendable (Int, Int, Double) -> Void,
        end: @escaping @Sendable (OperationBoard.Outcome) -> Void
    ) {
        self.plan = plan
        self.environment = environment
        self.id = id
        self.cancellation = cancellation
        self.advance = advance
        self.end = end
        position = Position(steps: plan.steps)
    }

    func start() {
        queue.async { self.makeStep() }
    }

    /// Makes the next step, or ends the chain.
    private func makeStep() {
        guard position.index < position.steps.count else {
            return end(.finished(position.value, caught: position.caught))
        }
        guard !cancellation.isCancelled else { return end(.cancelled) }
        show(0)
        StepExecution(
            step: position.steps[position.index],
            previous: position.value,
            environment: environment,
            cancellation: cancellation,
            id: id,
            plan: plan,
            report: { [weak self] in self?.show($0) },
            resume: { [queue] in queue.async(execute: $0) }
        ).make { result in
            // At once, so that the answer to a client that cancels shows it.
            if case .failure(.cancelled) = result { return self.end(.cancelled) }
            self.queue.async { self.take(result) }
        }
    }

    /// Takes the result of a step, and goes on or ends the chain.
    private func take(_ result: StepResult) {
        cancellation.onCancel(nil)
        switch result {
        case .success(let value):
            position.value = value
            position.index += 1
            makeStep()
        case .failure(let failure) where position.caught == nil && !plan.recovery.isEmpty:
            position.offset = position.done + 1
            position.index = 0
            position.steps = plan.recovery
            position.value = OperationValue(environment.describe(failure))
            position.caught = failure
            makeStep()
        case .failure(let failure):
            end(.failed(failure))
        }
    }

    /// Reports how much of the current step is done.
    private func show(_ part: Double) {
        let (done, count) = (position.done, position.stepCount)
        advance(done + 1, count, (Double(done) + min(1, max(0, part))) / Double(count))
    }
}
