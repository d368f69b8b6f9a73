internal import LatchkeyFrame
internal import LatchkeyJSON
internal import LatchkeyOperations

extension JSONWriter {
    /// Writes an operation.
    ///
    /// Its value can be left out, for lists of operations.
    mutating func operation(_ operation: OperationSnapshot, includesValue: Bool) {
        object { json in
            json.member("id", operation.id.text)
            if let owner = operation.owner { json.member("owner", owner) }
            if let name = operation.name { json.member("name", name) }
            json.member("state", operation.state.rawValue)
            json.member("priority", operation.priority.rawValue)
            json.array("dependsOn") { list in
                for id in operation.dependencies { id.text.write(to: &list) }
            }
            // Rounded, so that it is short; never up to the 1 of a finished operation.
            let progress = (operation.progress * 1000).rounded(.down) / 1000
            json.member("progress", raw: "\(progress)")
            json.member("step", operation.step)
            json.member("steps", operation.stepCount)
            json.member("created", operation.created.calendarText)
            if let started = operation.started { json.member("started", started.calendarText) }
            if let ended = operation.ended { json.member("ended", ended.calendarText) }
            if includesValue, let value = operation.value {
                // With room for the rest, so that a long value is not moved for the last brace.
                unsafe json.reserve(value.bytes.count + 64)
                unsafe json.member("value", rawJSON: value.bytes)
            }
            if let failure = operation.failure {
                let problem = failure.problem
                json.member("error", raw: String(decoding: problem, as: UTF8.self))
            }
        }
    }
}

extension OperationFailure {
    /// The failure as a problem in JSON.
    var problem: [UInt8] {
        let failure = requestFailure
        return failure.problem.json(detail: failure.detail)
    }

    /// Its problem; nil if the operation was cancelled.
    var code: Problem? {
        if case .cancelled = self { return nil }
        return requestFailure.problem
    }

    private var requestFailure: RequestFailure {
        switch self {
        case .refused(let refusal):
            refusal.failure
        case .backlogFull:
            RequestFailure(.backlogFull)
        case .missingProperty:
            RequestFailure(.notFound)
        case .noPreviousValue:
            RequestFailure(.invalidBody, "The step takes the previous step's value: there is none.")
        case .notLines:
            RequestFailure(.invalidBody, "What is to be imported is neither a text nor an array.")
        case .line(let line, let imported, let reason):
            RequestFailure(.invalidLine, "Line \(line): \(reason) \(imported) lines are imported.")
        case .notAllowed(let reason):
            RequestFailure(.forbidden, reason)
        case .fetch(let failure):
            failure.requestFailure
        case .comparison(let reason):
            RequestFailure(.compareFailed, reason)
        case .dependency:
            RequestFailure(.dependencyFailed)
        case .cancelled:
            preconditionFailure("A step that is cancelled ends its operation without an error.")
        }
    }
}

extension FetchFailure {
    fileprivate var requestFailure: RequestFailure {
        switch self {
        case .notAllowed:
            RequestFailure(.fetchNotAllowed)
        case .notURL:
            RequestFailure(.fetchFailed, "A redirect leads to something that is not a URL.")
        case .timedOut:
            RequestFailure(.fetchFailed, "It took longer than a fetch may take.")
        case .tooLarge:
            RequestFailure(.fetchFailed, "The body is longer than a fetch may read.")
        case .tooManyRedirects:
            RequestFailure(.fetchFailed, "There were too many redirects.")
        case .status(let status):
            RequestFailure(.fetchFailed, "The server answered with status \(status).")
        case .notJSON:
            RequestFailure(.fetchFailed, "The body is not a JSON value that can be stored.")
        case .unreachable(let reason):
            RequestFailure(.fetchFailed, "\(reason).")
        case .cancelled:
            preconditionFailure("A fetch that is cancelled ends its operation without an error.")
        }
    }
}

extension OperationRefusal {
    /// The problem for a request whose operations are refused.
    var failure: RequestFailure {
        switch self {
        case .exists: RequestFailure(.operationExists)
        case .unknownDependency: RequestFailure(.unknownDependency)
        case .cycle: RequestFailure(.dependencyCycle)
        case .tooMany: RequestFailure(.tooManyOperations)
        case .tooManyBytes:
            RequestFailure(
                .tooManyOperations,
                "All operations together take as much memory as they may."
            )
        case .draining: RequestFailure(.draining)
        }
    }
}
