internal import LatchkeyHTTP
internal import LatchkeyStore
internal import LatchkeySync

/// The routes to single properties.
struct PropertyRoutes<Store: CommittingStore>: Sendable {
    let store: Store
    let depthMax: Int

    func add(to table: inout RouteTable) {
        let property = "/v1/properties/{name}"
        table.add(.get, property, statuses: [200, 304, 400, 404, 412]) {
            call,
            match throws(RequestFailure) in try get(call, match)
        }
        table.add(.put, property, statuses: [201, 204, 400, 412, 415, 503, 507]) {
            call,
            match throws(RequestFailure) in try put(call, match)
        }
        table.add(.delete, property, statuses: [204, 400, 404, 412, 503]) {
            call,
            match throws(RequestFailure) in
            try delete(call, match)
        }
        table.add(
            .post,
            "\(property)/increment",
            statuses: [200, 400, 409, 412, 415, 503, 507]
        ) { call, match throws(RequestFailure) in
            try increment(call, match)
        }
    }

    private func get(_ call: Call, _ match: RouteMatch) throws(RequestFailure) {
        try call.noQuery()
        let name = try call.name(match.capture)
        let conditions = try call.conditions()
        store.look(name, observer: TimingObserver(timing: call.timing)) { property in
            guard let property else {
                call.fail(.notFound) { $0.mustBeRevalidated() }
                return
            }
            switch conditions.verdict(property.revision) {
            case .pass:
                call.respond(value: property) { $0.mustBeRevalidated() }
            case .noMatch:
                call.fail(.preconditionFailed)
            case .match:
                call.respond(.notModified) { answer in
                    answer.add("ETag", quoted: property.revision)
                    answer.mustBeRevalidated()
                }
            }
        }
    }

    private func put(_ call: Call, _ match: RouteMatch) throws(RequestFailure) {
        try call.noQuery()
        let name = try call.name(match.capture)
        let conditions = try call.conditions()
        guard call.exchange.header(named: "content-range") == nil else {
            throw RequestFailure(.partialPut)
        }
        try call.jsonBody(depthMax: depthMax)
        // The request stays in place until the answer.
        let change = unsafe call.exchange.body.withUnsafeBytes { value in
            unsafe Change.put(name, value: value, conditions: conditions)
        }
        try commit(change, call) { decision in
            if let commit = call.committed(decision) {
                call.respond(commit.first?.former == nil ? .created : .noContent) {
                    $0.add("ETag", quoted: commit.revision)
                }
            }
        }
    }

    private func delete(_ call: Call, _ match: RouteMatch) throws(RequestFailure) {
        try call.noQuery()
        let name = try call.name(match.capture)
        let change = Change.delete(name, conditions: try call.conditions())
        try commit(change, call) { decision in
            if call.committed(decision) != nil {
                call.respond(.noContent)
            }
        }
    }

    private func increment(_ call: Call, _ match: RouteMatch) throws(RequestFailure) {
        try call.noQuery()
        let name = try call.name(match.capture)
        let conditions = try call.conditions()
        let step = try call.incrementStep(depthMax: depthMax)
        let change = Change.increment(name, by: step, conditions: conditions)
        try commit(change, call) { decision in
            if let property = call.committed(decision)?.first?.property {
                call.respond(value: property)
            }
        }
    }

    private func commit(
        _ change: Change,
        _ call: Call,
        completion: @escaping @Sendable (Decision) -> Void
    ) throws(RequestFailure) {
        do {
            try store.commit(
                change,
                observer: TimingObserver(timing: call.timing),
                completion: completion
            )
        } catch {
            throw RequestFailure(.backlogFull)
        }
    }
}

extension Call {
    /// The commit of a change that was made; of one that was refused it answers why.
    fileprivate func committed(_ decision: Decision) -> Commit? {
        switch decision {
        case .success(let commit):
            return commit
        case .failure(let refusal):
            fail(refusal.failure)
            return nil
        }
    }

    /// Answers with a property's value, whose bytes go to the network from where they are stored.
    fileprivate func respond(
        value property: Property,
        fields: (inout ResponseFields) -> Void = { _ in }
    ) {
        respond(.ok, body: unsafe .owned(property.valueBytes, owner: property.owner)) { answer in
            answer.add("Content-Type", "application/json")
            answer.add("ETag", quoted: property.revision)
            fields(&answer)
        }
    }
}

extension Refusal {
    fileprivate var failure: RequestFailure {
        switch self {
        case .missing:
            RequestFailure(.notFound)
        case .preconditionFailed:
            RequestFailure(.preconditionFailed)
        case .notAnInteger:
            RequestFailure(.notAnInteger)
        case .overflow:
            RequestFailure(.overflow)
        case .full(.properties):
            RequestFailure(.storeFull, "There are as many properties as allowed.")
        case .full(.bytes):
            RequestFailure(.storeFull, "Names and values have as many bytes as allowed.")
        }
    }
}
