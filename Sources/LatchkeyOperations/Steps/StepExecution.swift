internal import LatchkeyStore
internal import LatchkeySync

/// Makes one step.
struct StepExecution: Sendable {
    let step: OperationStep
    let previous: OperationValue?
    let environment: OperationEnvironment
    let cancellation: Cancellation
    /// Says how much of the step is done, from 0 to 1; not after its completion.
    let report: @Sendable (Double) -> Void
    /// Calls a closure on the operation's own thread.
    let resume: @Sendable (@escaping @Sendable () -> Void) -> Void

    /// Makes the step and calls `completion` once, at once or later, on any thread.
    func make(_ completion: @escaping @Sendable (StepResult) -> Void) {
        switch step {
        case .put(let name, let value, let ttl):
            guard let value = value ?? previous else {
                return completion(.failure(.noPreviousValue))
            }
            commit(unsafe .put(name, value: value.bytes, ttl: ttl), keeping: value, completion)
        case .merge(let name, let patch, let ttl):
            guard let patch = patch ?? previous else {
                return completion(.failure(.noPreviousValue))
            }
            commit(unsafe .merge(name, patch: patch.bytes, ttl: ttl), keeping: patch, completion)
        case .increment(let name, let by, let ttl):
            commit(.increment(name, by: by, ttl: ttl), keeping: nil, completion)
        case .delete(let name):
            delete(name, completion)
        case .get(let name):
            environment.look(name) { property in
                completion(
                    property.map { .success(OperationValue(of: $0)) } ?? .failure(.missingProperty)
                )
            }
        case .transaction(let transaction, let owner):
            submit(.transaction(transaction)) { decision in
                withExtendedLifetime(owner) {
                    completion(
                        decision.map { commit in
                            var json = JSONWriter()
                            json.transaction(transaction, commit)
                            return OperationValue(json.bytes)
                        }
                    )
                }
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

    /// Makes a change of one property, whose new value is the step's value.
    private func commit(
        _ change: Change,
        keeping value: OperationValue?,
        _ completion: @escaping @Sendable (StepResult) -> Void
    ) {
        submit(change) { decision in
            // The change borrows the bytes until now.
            withExtendedLifetime(value) {
                completion(
                    decision.map { commit in
                        (commit.first?.property).map { OperationValue(of: $0) }
                    }
                )
            }
        }
    }

    /// Deletes a property; nothing happens if there is none.
    private func delete(
        _ name: PropertyName,
        _ completion: @escaping @Sendable (StepResult) -> Void
    ) {
        submit(.delete(name)) { decision in
            switch decision {
            case .success, .failure(.refused(.missing)): completion(.success(.null))
            case .failure(let failure): completion(.failure(failure))
            }
        }
    }

    func submit(
        _ change: Change,
        _ completion: @escaping @Sendable (Result<Commit, OperationFailure>) -> Void
    ) {
        do {
            try environment.commit(change) { completion($0.mapError { .refused($0) }) }
        } catch {
            completion(.failure(.backlogFull))
        }
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
            text = try Fetch(environment.fetching) { cancellation.isCancelled }.text(url)
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
    private let completion: Synchronized<(@Sendable (StepResult) -> Void)?, LockStrategy>

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
