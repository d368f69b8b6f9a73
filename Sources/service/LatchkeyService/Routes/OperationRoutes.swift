internal import LatchkeyAccess
internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyJSON
internal import LatchkeyOperations
internal import LatchkeyStore

/// The routes of operations.
struct OperationRoutes: Sendable {
    private static let limitMax = 1000
    private static let limitDefault = 100

    let operations: Operations
    /// Nil if every client may do everything.
    let access: AccessControl?
    let fetching: FetchLimits
    let canCompare: Bool
    let depthMax: Int

    func add(to table: inout RouteTable) {
        let all = "/v1/operations"
        let one = "\(all)/{id}"
        table.add(
            .post,
            all,
            .change,
            needs: .right(.operations),
            statuses: [202, 400, 409, 415, 422, 503]
        ) { request, _ throws(RequestFailure) in
            try submit(request)
        }
        table.add(.get, all, .local, needs: .right(.operations), statuses: [200, 400, 503]) {
            request,
            _ throws(RequestFailure) in
            try list(request)
        }
        table.add(.get, one, .local, needs: .right(.operations), statuses: [200, 400, 404, 503]) {
            request,
            match throws(RequestFailure) in
            try request.noQuery()
            try request.respond(try operation(match, request), .ok)
        }
        table.add(
            .delete,
            one,
            .unkeyedChange,
            needs: .right(.operations),
            statuses: [202, 400, 404]
        ) {
            request,
            match throws(RequestFailure) in
            try request.noQuery()
            let id = try operation(match, request).id
            guard let operation = operations.cancel(id) else {
                throw RequestFailure(.operationNotFound)
            }
            try request.respond(operation, .accepted)
        }
        table.add(
            .get,
            "\(one)/events",
            .local,
            needs: .right(.operations),
            statuses: [200, 400, 404, 503]
        ) {
            request,
            match throws(RequestFailure) in
            try request.noQuery()
            try request.checkAnswerRoom()
            let operation = try operation(match, request)
            try request.require(toShow: operation)
            OperationStream.start(request, operations, operation.id, after: request.lastEventNumber)
        }
    }

    private func submit(_ request: ServiceRequest) throws(RequestFailure) {
        try request.noQuery()
        try request.jsonBody(depthMax: depthMax)
        let body = body(of: request)
        let (plans, isList) = try unsafe request.exchange.body.withUnsafeBytes {
            (bytes) throws(RequestFailure) in
            try body.plans(unsafe JSONView(bytes))
        }
        for plan in plans {
            try check(plan, request.caller)
        }
        if let key = request.key, let kept = key.kept {
            key.noteRepeat()
            guard let submission = kept.answer.flatMap({ Submission($0) }) else {
                throw RequestFailure(.answerNotKept)
            }
            return submission.respond(to: request)
        }
        try request.checkAnswerRoom()
        let accepted: [OperationSnapshot]
        do {
            accepted = try operations.submit(plans)
        } catch {
            throw error.failure
        }
        if !isList { try request.require(toShow: accepted[0]) }
        let submission = Submission(accepted, isList: isList)
        request.key?.keep(submission.kept)
        submission.respond(to: request)
    }

    /// The reader of a caller's operations; the caller may lose rights before they are executed.
    private func body(of request: ServiceRequest) -> OperationBody {
        let name = request.caller.name
        return OperationBody(
            fetching: fetching,
            canCompare: canCompare,
            owner: name,
            origin: request.series.routeAudit == nil ? nil : OperationOrigin(request),
            refusal: { [access] step, taken in
                guard let access else { return nil }
                guard let name, let owner = access.caller(named: name) else {
                    return "The token of the operation's owner was revoked."
                }
                var lacked =
                    owner.allows(.operations) ? step.lackedRight(of: owner) : .operations
                // A value that was read before must not be written elsewhere without the right to
                // read it.
                if lacked == nil, !owner.reads(taken) { lacked = .read }
                return lacked.flatMap { RequestFailure.forbidden($0, owner).detail }
            }
        )
    }

    /// Checks that the caller may make all steps, and see the operations that they wait for.
    private func check(_ plan: OperationPlan, _ caller: Caller) throws(RequestFailure) {
        for step in plan.steps + plan.recovery {
            if let right = step.lackedRight(of: caller) { throw .forbidden(right, caller) }
        }
        for id in plan.dependencies {
            if let other = operations.operation(id), !other.isVisible(to: caller) {
                throw RequestFailure(.unknownDependency)
            }
        }
    }

    /// The operation of a path, if the caller may see it.
    private func operation(
        _ match: RouteMatch,
        _ request: ServiceRequest
    ) throws(RequestFailure) -> OperationSnapshot {
        guard let operation = operations.operation(try id(match)),
            operation.isVisible(to: request.caller)
        else {
            throw RequestFailure(.operationNotFound)
        }
        return operation
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
        let caller = request.caller
        let owner = caller.allows(.admin) ? nil : caller.name
        let page = operations.page(state: state, owner: owner, limit: limit, before: before)
        request.respond(.ok, page)
    }

    private func id(_ match: RouteMatch) throws(RequestFailure) -> OperationID {
        guard let id = OperationID(String(decoding: match.capture, as: UTF8.self)) else {
            throw RequestFailure(.operationNotFound)
        }
        return id
    }
}

extension OperationSnapshot {
    /// Whether the caller may see and cancel the operation: it is the owner or an admin.
    func isVisible(to caller: Caller) -> Bool {
        caller.name == owner || caller.allows(.admin)
    }

    /// Whether the caller may see its value, too: it may read all that the value shows.
    func isShown(to caller: Caller) -> Bool {
        value.map { caller.reads($0.shown) } ?? true
    }
}

extension OperationStep {
    /// A right that the step needs and the caller lacks; nil if there is none.
    ///
    /// Rights to the properties of an import are checked when its lines are known.
    fileprivate func lackedRight(of caller: Caller) -> Right? {
        let lacked: Right? =
            switch self {
            case .change(let step, _): step.lackedRight(of: caller)
            case .transaction(let transaction): transaction.lackedRight(of: caller)
            case .wait: nil
            case .importing: caller.allows(.import) ? nil : .import
            case .compare: caller.allows(.compare) ? nil : .compare
            case .fetch: caller.allows(.fetch) ? nil : .fetch
            }
        return lacked ?? (caller.reads(shown) ? nil : .read)
    }
}

extension ServiceRequest {
    fileprivate func require(toShow operation: OperationSnapshot) throws(RequestFailure) {
        guard operation.isShown(to: caller) else { throw .forbidden(.read, caller) }
    }

    fileprivate func respond(
        _ operation: OperationSnapshot,
        _ status: HTTPStatus
    ) throws(RequestFailure) {
        try require(toShow: operation)
        var json = JSONWriter()
        json.operation(operation, includesValue: true)
        respond(status, body: .bytes(json.bytes)) { answer in
            answer.add("Content-Type", "application/json")
        } audit: {
            $0.operations = [operation.id.text]
        }
    }

    fileprivate func respond(_ status: HTTPStatus, _ page: OperationPage) {
        var json = JSONWriter()
        json.page(page.operations, next: page.next)
        respond(status, body: .bytes(json.bytes)) { answer in
            answer.add("Content-Type", "application/json")
        } audit: {
            $0.operations = page.operations.map(\.id.text)
        }
    }

    /// The number of the last event that the client has seen; 0 if it does not tell.
    fileprivate var lastEventNumber: UInt64 {
        exchange.header(named: "last-event-id")
            .flatMap { UInt64(String(decoding: $0, as: UTF8.self)) } ?? 0
    }
}

extension JSONWriter {
    mutating func page(_ operations: [OperationSnapshot], next: UInt64?) {
        object { object in
            object.array("operations") { list in
                for operation in operations { list.operation(operation, includesValue: false) }
            }
            if let next { object.member("next", "\(next)") }
        }
    }
}

extension OperationOrigin {
    init(_ request: ServiceRequest) {
        self.init(
            address: request.exchange.clientAddress.text,
            traceparent: TraceParent(request.exchange)?.text
        )
    }
}
