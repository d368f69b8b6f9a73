internal import LatchkeyFrame
internal import LatchkeyGuards
internal import LatchkeyHTTP
internal import LatchkeyStore
internal import LatchkeyStrategies
internal import LatchkeyWatches

/// The routes of single properties.
struct PropertyRoutes: Sendable {
    let store: ServedProperties
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
            statuses: [204, 400, 404, 412, 503, 507]
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
            statuses: [204, 400, 404, 412, 503, 507]
        ) { request, match throws(RequestFailure) in
            try touch(request, match)
        }
    }

    /// A token with these rights to the name in the path; with the right to read if the answer has
    /// the value.
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
        to store: ServedProperties,
        _ kind: ChangeAnswer.Kind,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) throws(RequestFailure) {
        let answer = ChangeAnswer(request: self, kind: kind)
        if let kept = key?.decision(of: change) { return answer.receive(kept) }
        do {
            try store.commit(change, Ask(at: CallSite(fileID, line), timing: timing), answer)
        } catch {
            throw RequestFailure(.backlogFull)
        }
    }

    /// The commit of the decision; nil after answering a refusal.
    func committed(_ decision: Decision) -> Commit? {
        switch decision {
        case .success(let commit):
            if commit.isRepeat { key?.noteRepeat() }
            return commit
        case .failure(let refusal):
            if case .repeated = refusal { key?.noteRepeat() }
            fail(refusal.failure)
            return nil
        }
    }
}
