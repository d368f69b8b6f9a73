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
        try commit(change, call) { effect, revision in
            call.respond(effect?.former == nil ? .created : .noContent) {
                $0.add("ETag", quoted: revision)
            }
        }
    }

    private func delete(_ call: Call, _ match: RouteMatch) throws(RequestFailure) {
        try call.noQuery()
        let name = try call.name(match.capture)
        let change = Change.delete(name, conditions: try call.conditions())
        try commit(change, call) { _, _ in
            call.respond(.noContent)
        }
    }

    private func increment(_ call: Call, _ match: RouteMatch) throws(RequestFailure) {
        try call.noQuery()
        let name = try call.name(match.capture)
        let conditions = try call.conditions()
        let step = try call.incrementStep(depthMax: depthMax)
        let change = Change.increment(name, by: step, conditions: conditions)
        try commit(change, call) { effect, _ in
            guard let property = effect?.property else {
                preconditionFailure("An increment leaves a property.")
            }
            call.respond(value: property)
        }
    }

    /// Commits a change of one property, and answers with what it did or with why not.
    @inline(__always)
    private func commit(
        _ change: Change,
        _ call: Call,
        answer: @escaping @Sendable (Commit.Effect?, Revision) -> Void
    ) throws(RequestFailure) {
        do {
            try store.commit(change, observer: TimingObserver(timing: call.timing)) { decision in
                switch decision {
                case .success(let commit): answer(commit.first, commit.revision)
                case .failure(let refusal): call.fail(refusal.failure)
                }
            }
        } catch {
            throw RequestFailure(.backlogFull)
        }
    }
}

extension Call {
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
