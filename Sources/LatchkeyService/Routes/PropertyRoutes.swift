internal import LatchkeyHTTP
internal import LatchkeyStore
internal import LatchkeySync

/// The routes to single properties.
struct PropertyRoutes<Guard: Strategy>: Sendable {
    let store: PropertyStore<Guard>
    let shadows: Shadows?
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
        let sampled = shadows?.sample(call, .get, name)
        store.get(name, observer: TimingObserver(timing: call.timing)) { property in
            guard let property else {
                call.fail(.notFound) { $0.mustBeRevalidated() }
                return
            }
            // RFC 9110 section 13.2.2: If-Match first, then If-None-Match.
            if let ifMatch = conditions.ifMatch, !ifMatch.match(property.revision) {
                call.fail(.preconditionFailed)
            } else if let ifNoneMatch = conditions.ifNoneMatch,
                ifNoneMatch.match(property.revision)
            {
                call.respond(.notModified) { answer in
                    answer.add("ETag", quoted: property.revision)
                    answer.mustBeRevalidated()
                }
            } else {
                call.respond(value: property) { $0.mustBeRevalidated() }
            }
        }
        sampled?.apply()
    }

    private func put(_ call: Call, _ match: RouteMatch) throws(RequestFailure) {
        try call.noQuery()
        let name = try call.name(match.capture)
        let conditions = try call.conditions()
        guard call.exchange.header(named: "content-range") == nil else {
            throw RequestFailure(.partialPut)
        }
        try call.jsonBody(depthMax: depthMax)
        let sampled = shadows.flatMap { shadows in
            unsafe call.exchange.body.withUnsafeBytes { value in
                unsafe shadows.samplePut(call, name, value: value)
            }
        }
        try submitting { () throws(BacklogFull) in
            try unsafe call.exchange.body.withUnsafeBytes { (value) throws(BacklogFull) in
                try unsafe store.put(
                    name,
                    value: value,
                    conditions: conditions,
                    observer: TimingObserver(timing: call.timing)
                ) { result in
                    switch result {
                    case .created(let revision):
                        call.respond(.created) { $0.add("ETag", quoted: revision) }
                    case .replaced(let revision):
                        call.respond(.noContent) { $0.add("ETag", quoted: revision) }
                    case .preconditionFailed: call.fail(.preconditionFailed)
                    case .full(let bound): call.fail(bound.failure)
                    }
                }
            }
        }
        sampled?.apply()
    }

    private func delete(_ call: Call, _ match: RouteMatch) throws(RequestFailure) {
        try call.noQuery()
        let name = try call.name(match.capture)
        let conditions = try call.conditions()
        let sampled = shadows?.sample(call, .delete, name)
        try submitting { () throws(BacklogFull) in
            try store.delete(
                name,
                conditions: conditions,
                observer: TimingObserver(timing: call.timing)
            ) { result in
                switch result {
                case .deleted: call.respond(.noContent)
                case .missing: call.fail(.notFound)
                case .preconditionFailed: call.fail(.preconditionFailed)
                }
            }
        }
        sampled?.apply()
    }

    private func increment(_ call: Call, _ match: RouteMatch) throws(RequestFailure) {
        try call.noQuery()
        let name = try call.name(match.capture)
        let conditions = try call.conditions()
        let step = try call.incrementStep(depthMax: depthMax)
        let sampled = shadows?.sample(call, .increment(by: step), name)
        try submitting { () throws(BacklogFull) in
            try store.increment(
                name,
                by: step,
                conditions: conditions,
                observer: TimingObserver(timing: call.timing)
            ) { result in
                switch result {
                case .incremented(let property): call.respond(value: property)
                case .preconditionFailed: call.fail(.preconditionFailed)
                case .notAnInteger: call.fail(.notAnInteger)
                case .overflow: call.fail(.overflow)
                case .full(let bound): call.fail(bound.failure)
                }
            }
        }
        sampled?.apply()
    }

    private func submitting(
        _ submit: () throws(BacklogFull) -> Void
    ) throws(RequestFailure) {
        do {
            try submit()
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

extension StoreFull {
    fileprivate var failure: RequestFailure {
        switch self {
        case .properties: RequestFailure(.storeFull, "There are as many properties as allowed.")
        case .bytes: RequestFailure(.storeFull, "Names and values have as many bytes as allowed.")
        }
    }
}
