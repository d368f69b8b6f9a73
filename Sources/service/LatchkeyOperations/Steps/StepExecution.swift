internal import LatchkeyJSON
internal import LatchkeyStore
internal import LatchkeySync

/// The result of a step.
typealias StepResult = Result<OperationValue?, OperationFailure>

/// Makes one step.
struct StepExecution: Sendable {
    let step: OperationStep
    let previous: OperationValue?
    let environment: OperationEnvironment
    let cancellation: Cancellation
    /// The operation's identifier.
    let id: OperationID
    let plan: OperationPlan
    /// Reports how much of the step is done, from 0 to 1; not after its completion.
    let report: @Sendable (Double) -> Void
    /// Calls a closure on the operation's own thread.
    let resume: @Sendable (@escaping @Sendable () -> Void) -> Void

    /// The properties that the step shows of the previous value.
    var taken: [PropertyName] { step.takesPrevious ? previous?.shown ?? [] : [] }

    /// The properties that the step's value shows, in memory of their own.
    private var shown: [PropertyName] { step.shown.map { $0.copy() } + taken }

    /// Makes the step and calls `completion` once, now or later, on any thread.
    func make(_ completion: @escaping @Sendable (StepResult) -> Void) {
        if let reason = plan.refusal(step, taken) {
            let failure = OperationFailure.notAllowed(reason)
            if case .change(let step, _) = step {
                observe(.failed(failure), step.name)
            } else {
                observe(.failed(failure))
            }
            return completion(.failure(failure))
        }
        switch step {
        case .change(let step, let takesPrevious):
            change(step, takesPrevious: takesPrevious, completion)
        case .transaction(let transaction):
            environment.commit(.transaction(transaction), plan.owner) { result in
                observe(result)
                completion(
                    result.map { commit in
                        var json = JSONWriter()
                        json.transaction(transaction, commit)
                        return OperationValue(json.bytes, shown: shown)
                    }
                )
            }
        case .wait(let duration):
            wait(duration, completion)
        case .importing(let lines):
            importLines(lines, completion)
        case .compare(let request):
            compare(request, completion)
        case .fetch(let url):
            completion(fetch(url))
        }
    }

    /// Tells the result of a change.
    private func observe(_ result: CommitResult, _ name: PropertyName? = nil) {
        switch result {
        case .success(let commit): observe(.committed(commit), name)
        case .failure(let failure): observe(.failed(failure), name)
        }
    }

    func observe(_ outcome: OperationWrite.Outcome, _ name: PropertyName? = nil) {
        environment.observe?(
            OperationWrite(
                id: id,
                owner: plan.owner,
                origin: plan.origin,
                name: name,
                outcome: outcome
            )
        )
    }

    /// Changes or reads one property, whose value is then the step's value.
    private func change(
        _ step: Change.Step,
        takesPrevious: Bool,
        _ completion: @escaping @Sendable (StepResult) -> Void
    ) {
        if case .get = step.action {
            return environment.look(step.name) { found in
                completion(
                    found.flatMap {
                        $0.map { .success(OperationValue(of: $0, shown: shown)) }
                            ?? .failure(.missingProperty)
                    }
                )
            }
        }
        guard let step = takesPrevious ? replacingContent(of: step) : step else {
            return completion(.failure(.noPreviousValue))
        }
        environment.commit(.step(step), plan.owner) { result in
            if case (.failure(.refused(.missing)), .delete) = (result, step.action) {
                // There was nothing to delete, as in a transaction.
                return completion(.success(.null))
            }
            observe(result, step.name)
            completion(
                result.map { commit in
                    commit.first?.property.map { OperationValue(of: $0, shown: shown) } ?? .null
                }
            )
        }
    }

    /// The step with the previous step's value, which the chain keeps meanwhile; nil if there is
    /// none.
    private func replacingContent(of step: Change.Step) -> Change.Step? {
        guard let previous else { return nil }
        let action: Change.Action =
            if case .put = step.action {
                unsafe .put(previous.bytes)
            } else {
                unsafe .merge(previous.bytes)
            }
        return Change.Step(step.name, action, ttl: step.ttl, isOnlyIfNew: step.isOnlyIfNew)
    }

    /// Completes after a time, or when the operation is to stop.
    private func wait(
        _ duration: Duration,
        _ completion: @escaping @Sendable (StepResult) -> Void
    ) {
        let once = Once(completion)
        let timer = environment.clock.after(duration) { once.call(.success(previous)) }
        cancellation.onCancel {
            timer.stop()
            once.call(.failure(.cancelled))
        }
    }

    private func compare(
        _ request: ComparisonRequest,
        _ completion: @escaping @Sendable (StepResult) -> Void
    ) {
        guard let compare = environment.compare else {
            return completion(.failure(.comparison("This program makes no comparisons.")))
        }
        let result = compare(request, { cancellation.isCancelled }, report)
        guard !cancellation.isCancelled else { return completion(.failure(.cancelled)) }
        completion(
            result.map { OperationValue($0) }.mapError { .comparison($0.message) }
        )
    }

    private func fetch(_ url: String) -> StepResult {
        let text: [UInt8]
        do {
            text = try Fetch(
                environment.fetching,
                traceparent: plan.origin?.traceparent,
                isCancelled: { cancellation.isCancelled }
            ).text(url)
        } catch {
            return .failure(error == .cancelled ? .cancelled : .fetch(error))
        }
        let value = OperationValue(text)
        do {
            try unsafe JSONText.check(value.bytes, depthMax: environment.depthMax)
        } catch {
            return .failure(.fetch(.notJSON))
        }
        return .success(value)
    }
}

/// A completion of which only the first call counts.
///
/// **Design.** The lock guards the completion, which is called without it and freed.
private final class Once: Sendable {
    private let completion: Guarded<(@Sendable (StepResult) -> Void)?>

    init(_ completion: @escaping @Sendable (StepResult) -> Void) {
        self.completion = Synchronized(completion)
    }

    func call(_ result: StepResult) {
        let completion = completion.write { completion in
            defer { completion = nil }
            return completion
        }
        completion?(result)
    }
}
