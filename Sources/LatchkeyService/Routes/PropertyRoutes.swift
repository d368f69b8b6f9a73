internal import LatchkeyFrame
internal import LatchkeyGuards
internal import LatchkeyHTTP
internal import LatchkeyStore
internal import LatchkeyStrategies

/// The routes of single properties.
struct PropertyRoutes: Sendable {
    let store: ServedStore
    let depthMax: Int
    let history: HistoryRoutes

    func add(to table: inout RouteTable) {
        let property = "/v1/properties/{name}"
        table.add(
            .get,
            property,
            .read,
            needs: .token,
            statuses: [200, 304, 400, 404, 410, 412, 429, 503]
        ) {
            request,
            match throws(RequestFailure) in try get(request, match)
        }
        table.add(
            .put,
            property,
            .change,
            needs: Self.asking(.write),
            statuses: [201, 204, 400, 412, 415, 422, 503, 507]
        ) { request, match throws(RequestFailure) in
            try put(request, match)
        }
        table.add(
            .patch,
            property,
            .change,
            needs: Self.asking(.write, .read),
            statuses: [200, 400, 412, 415, 422, 503, 507]
        ) { request, match throws(RequestFailure) in
            try patch(request, match)
        }
        table.add(
            .delete,
            property,
            .change,
            needs: Self.asking(.write),
            statuses: [204, 400, 404, 412, 503]
        ) {
            request,
            match throws(RequestFailure) in
            try delete(request, match)
        }
        table.add(
            .post,
            "\(property)/increment",
            .change,
            needs: Self.asking(.write, .read),
            statuses: [200, 400, 409, 412, 415, 422, 503, 507]
        ) { request, match throws(RequestFailure) in
            try increment(request, match)
        }
        table.add(
            .post,
            "\(property)/touch",
            .change,
            needs: Self.asking(.write),
            statuses: [204, 400, 404, 412, 503]
        ) { request, match throws(RequestFailure) in
            try touch(request, match)
        }
    }

    /// A token with these rights to the name of the path: to read it if the answer has the value.
    private static func asking(_ rights: Right...) -> RouteNeed {
        .tokenAgain { request, match throws(RequestFailure) in
            for right in rights { _ = try request.name(match.capture, right) }
        }
    }

    private func get(_ request: ServiceRequest, _ match: RouteMatch) throws(RequestFailure) {
        if !request.exchange.query.isEmpty, try history.reads(request, match) { return }
        let name = try request.name(match.capture, .read)
        let conditions = try request.conditions()
        do throws(BacklogFull) {
            try store.read(name, request, conditions, Ask(at: CallSite(), timing: request.timing))
        } catch {
            throw RequestFailure(.backlogFull)
        }
    }

    private func put(_ request: ServiceRequest, _ match: RouteMatch) throws(RequestFailure) {
        let (ttl, isOnlyIfNew) = try request.lifetime()
        let name = try request.name(match.capture, .write)
        let conditions = try request.conditions()
        guard !request.exchange.hasHeader(named: .contentRange) else {
            throw RequestFailure(.partialPut)
        }
        try request.jsonBody(depthMax: depthMax)
        // The change borrows the bytes of the request, which are valid until the answer.
        let change = unsafe request.exchange.body.withUnsafeBytes { value in
            unsafe Change.put(
                name,
                value: value,
                ttl: ttl,
                isOnlyIfNew: isOnlyIfNew,
                conditions: conditions
            )
        }
        try request.commit(change, to: store, .put)
    }

    private func patch(_ request: ServiceRequest, _ match: RouteMatch) throws(RequestFailure) {
        try request.checkAnswerRoom()
        let (ttl, isOnlyIfNew) = try request.lifetime()
        let name = try request.name(match.capture, .write)
        // The answer has the value.
        try request.require(.read, name)
        let conditions = try request.conditions()
        try request.mergePatchBody(depthMax: depthMax)
        let change = unsafe request.exchange.body.withUnsafeBytes { patch in
            unsafe Change.merge(
                name,
                patch: patch,
                ttl: ttl,
                isOnlyIfNew: isOnlyIfNew,
                conditions: conditions
            )
        }
        try request.commit(change, to: store, .value)
    }

    private func delete(_ request: ServiceRequest, _ match: RouteMatch) throws(RequestFailure) {
        try request.noQuery()
        let name = try request.name(match.capture, .write)
        let change = Change.delete(name, conditions: try request.conditions())
        try request.commit(change, to: store, .deletion)
    }

    private func increment(_ request: ServiceRequest, _ match: RouteMatch) throws(RequestFailure) {
        let (ttl, isOnlyIfNew) = try request.lifetime()
        let name = try request.name(match.capture, .write)
        // The answer has the value.
        try request.require(.read, name)
        let conditions = try request.conditions()
        let step = try request.incrementStep(depthMax: depthMax)
        let change = Change.increment(
            name,
            by: step,
            ttl: ttl,
            isOnlyIfNew: isOnlyIfNew,
            conditions: conditions
        )
        try request.commit(change, to: store, .value)
    }

    private func touch(_ request: ServiceRequest, _ match: RouteMatch) throws(RequestFailure) {
        guard let text = try request.query(["ttl"])["ttl"] else {
            throw RequestFailure(.invalidQuery, "Give ttl, the new time to live in seconds.")
        }
        let ttl = try ServiceRequest.ttl(text)
        let name = try request.name(match.capture, .write)
        let change = Change.touch(name, ttl: ttl, conditions: try request.conditions())
        try request.commit(change, to: store, .touch)
    }
}

extension ServiceRequest {
    /// Commits a change of one property and answers.
    ///
    /// A profile of contention names the place of this call.
    func commit(
        _ change: Change,
        to store: ServedStore,
        _ kind: ChangeAnswer.Kind,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) throws(RequestFailure) {
        do {
            let ask = Ask(at: CallSite(fileID, line), timing: timing)
            try store.commit(change, ask, ChangeAnswer(request: self, kind: kind))
        } catch {
            throw RequestFailure(.backlogFull)
        }
    }

    /// The commit of the decision; nil after answering a refusal.
    func committed(_ decision: Decision) -> Commit? {
        switch decision {
        case .success(let commit):
            if commit.isRepeat { keeper?.noteRepeat() }
            return commit
        case .failure(let refusal):
            if case .repeated = refusal { keeper?.noteRepeat() }
            if let keeper, keeper.isShared, !refusal.isOfKey {
                failFreeing(keeper, refusal.failure)
            } else {
                fail(refusal.failure)
            }
            return nil
        }
    }

    /// Answers a read of a property.
    ///
    /// - Parameters:
    ///   - property: What was found.
    ///   - conditions: Those of the request.
    ///   - isPast: Whether it is a state of before.
    @inline(__always)
    func answer(_ property: Property?, _ conditions: Conditions, isPast: Bool = false) {
        guard let property else {
            fail(.notFound)
            return
        }
        switch conditions.verdict(property.revision) {
        case .pass:
            respond(value: property) { answer in
                if !isPast { addRevision(of: property, to: &answer) }
            }
        case .noMatch: fail(.preconditionFailed)
        case .match: respond(notModified: property, isPast: isPast)
        }
    }

    /// Answers that the client has the property already.
    ///
    /// The value is not sent, but its length is: the one of the 200 (RFC 9110, section 8.6). Caches
    /// are known to take a length of 0 for that of the value.
    func respond(notModified property: Property, isPast: Bool = false) {
        let body = unsafe ResponseBody.owned(property.valueBytes, owner: property.owner)
        respond(.notModified, body: body) { answer in
            answer.add("ETag", quoted: property.revision)
            if !isPast { addRevision(of: property, to: &answer) }
        }
    }

    /// Says the revision that the property was read at, if the service is a replica.
    ///
    /// All changes up to that of the level were there before the look. If the property is of a
    /// later one, it is what it was then; else nothing has changed it since.
    @inline(__always)
    private func addRevision(of property: Property, to answer: inout ResponseFields) {
        if level != .none {
            answer.add("Latchkey-Revision", max(level.revision, property.revision))
        }
    }

    /// Answers with a property's value, whose bytes are sent from the store without a copy.
    ///
    /// - Parameters:
    ///   - property: The property.
    ///   - time: What its time to live is counted from; nil for now.
    ///   - fields: Adds further header fields.
    ///   - audit: Says what the request did.
    func respond(
        value property: Property,
        at time: Timestamp? = nil,
        fields: (inout ResponseFields) -> Void = { _ in },
        audit: (inout AuditDetail) -> Void = { _ in }
    ) {
        let body = unsafe ResponseBody.owned(property.valueBytes, owner: property.owner)
        func addFields(_ answer: inout ResponseFields) {
            answer.add("Content-Type", "application/json")
            answer.add("ETag", quoted: property.revision)
            answer.add("Latchkey-Created", property.created)
            if property.isMortal {
                let time = time ?? StoreClock.system.now()
                let left = TimeToLiveText.text(until: property.expiry, at: time)
                answer.add("Latchkey-TTL", text: left)
            }
            fields(&answer)
        }
        respond(.ok, body: body, fields: addFields, audit: audit)
    }
}
