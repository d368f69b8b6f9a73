internal import LatchkeyHTTP
internal import LatchkeyOperations
internal import LatchkeyStore

/// The routes of operations.
struct OperationRoutes: Sendable {
    private static let limitMax = 1000
    private static let limitDefault = 100

    let operations: Operations
    let fetching: FetchLimits
    let canCompare: Bool
    let depthMax: Int

    func add(to table: inout RouteTable) {
        let all = "/v1/operations"
        let one = "\(all)/{id}"
        table.add(
            .post,
            all,
            statuses: [202, 400, 409, 415, 422, 503],
            isRepeatable: true
        ) { request, _ throws(RequestFailure) in
            try submit(request)
        }
        table.add(.get, all, statuses: [200, 400, 503]) { request, _ throws(RequestFailure) in
            try list(request)
        }
        table.add(.get, one, statuses: [200, 400, 404, 503]) {
            request,
            match throws(RequestFailure) in
            try request.noQuery()
            guard let operation = operations.operation(try id(match)) else {
                throw RequestFailure(.operationNotFound)
            }
            request.respond(operation, .ok)
        }
        table.add(.delete, one, statuses: [202, 400, 404]) {
            request,
            match throws(RequestFailure) in
            try request.noQuery()
            guard let operation = operations.cancel(try id(match)) else {
                throw RequestFailure(.operationNotFound)
            }
            request.respond(operation, .accepted)
        }
        table.add(.get, "\(one)/events", statuses: [200, 400, 404, 503]) {
            request,
            match throws(RequestFailure) in
            try request.noQuery()
            try request.checkAnswerRoom()
            let id = try id(match)
            guard operations.operation(id) != nil else {
                throw RequestFailure(.operationNotFound)
            }
            OperationStream.start(request, operations, id, after: request.lastEventNumber)
        }
    }

    private func submit(_ request: ServiceRequest) throws(RequestFailure) {
        try request.noQuery()
        try request.checkAnswerRoom()
        try request.jsonBody(depthMax: depthMax)
        let body = OperationBody(fetching: fetching, canCompare: canCompare)
        let (plans, isList) = try unsafe request.exchange.body.withUnsafeBytes {
            (bytes) throws(RequestFailure) in
            try body.plans(unsafe JSONView(bytes))
        }
        let accepted: [OperationSnapshot]
        do {
            accepted = try operations.submit(plans)
        } catch {
            throw error.failure
        }
        guard isList else {
            return request.respond(accepted[0], .accepted) {
                $0.add("Location", text: "/v1/operations/\(accepted[0].id.text)")
            }
        }
        request.respond(.accepted, OperationPage(operations: accepted, next: nil))
    }

    private func list(_ request: ServiceRequest) throws(RequestFailure) {
        let query = try request.query(["state", "limit", "after"])
        var state: OperationState?
        if let text = query["state"] {
            guard let named = OperationState(rawValue: text) else {
                let names = OperationState.allCases.map(\.rawValue).joined(separator: ", ")
                throw RequestFailure(.invalidQuery, "state must be one of \(names).")
            }
            state = named
        }
        var limit = Self.limitDefault
        if let text = query["limit"] {
            guard let number = Int(text), (1...Self.limitMax).contains(number) else {
                throw RequestFailure(
                    .invalidQuery,
                    "limit must be a whole number from 1 to \(Self.limitMax)."
                )
            }
            limit = number
        }
        var before: UInt64?
        if let text = query["after"] {
            guard let number = UInt64(text) else {
                throw RequestFailure(.invalidQuery, "after must be the `next` of an earlier page.")
            }
            before = number
        }
        request.respond(.ok, operations.page(state: state, limit: limit, before: before))
    }

    private func id(_ match: RouteMatch) throws(RequestFailure) -> OperationID {
        guard let id = OperationID(String(decoding: match.capture, as: UTF8.self)) else {
            throw RequestFailure(.operationNotFound)
        }
        return id
    }
}

extension ServiceRequest {
    fileprivate func respond(
        _ operation: OperationSnapshot,
        _ status: HTTPStatus,
        fields: (inout ResponseFields) -> Void = { _ in }
    ) {
        var json = JSONWriter()
        json.operation(operation, includesValue: true)
        respond(status, body: .bytes(json.bytes)) { answer in
            answer.add("Content-Type", "application/json")
            answer.mustBeRevalidated()
            fields(&answer)
        }
    }

    fileprivate func respond(_ status: HTTPStatus, _ page: OperationPage) {
        var json = JSONWriter()
        json.object { object in
            object.array("operations") { list in
                for operation in page.operations {
                    list.operation(operation, includesValue: false)
                }
            }
            if let next = page.next { object.member("next", "\(next)") }
        }
        respond(status, body: .bytes(json.bytes)) { answer in
            answer.add("Content-Type", "application/json")
            answer.mustBeRevalidated()
        }
    }

    /// The number of the last event that the client has seen; 0 if it does not say.
    fileprivate var lastEventNumber: UInt64 {
        exchange.header(named: "last-event-id")
            .flatMap { UInt64(String(decoding: $0, as: UTF8.self)) } ?? 0
    }
}
