internal import LatchkeyFrame
internal import LatchkeyGuards
internal import LatchkeyHTTP
internal import LatchkeyJSON
internal import LatchkeyStore
internal import LatchkeyStrategies
internal import LatchkeyWatches

/// The routes of transactions, and of changes to all or to the first property of a prefix, which
/// are transactions, too.
struct TransactionRoutes: Sendable {
    /// A waiting request keeps its body, and its transaction is kept in addition.
    private static let waitingByteCountMax = 64 * 1024

    let store: ServedProperties
    let watched: WatchedHistory
    let hub: WatchHub
    let lines = WaitingLines()
    let depthMax: Int

    /// The value of a claim without one.
    private static let noValue = OwnedBytes(Array("null".utf8))

    func add(to table: inout RouteTable) {
        table.add(
            .post,
            "/v1/transactions",
            .change,
            needs: asking { request throws(RequestFailure) in try transaction(of: request) },
            statuses: [200, 400, 404, 409, 415, 422, 429, 503, 507]
        ) { request, _ throws(RequestFailure) in
            try transact(request)
        }
        table.add(
            .post,
            "/v1/pop",
            .change,
            needs: asking { request throws(RequestFailure) in try popping(request) },
            statuses: [200, 400, 404, 415, 422, 429, 503, 507]
        ) { request, _ throws(RequestFailure) in
            try pop(request)
        }
        table.add(
            .delete,
            "/v1/properties",
            .change,
            needs: asking { request throws(RequestFailure) in try deleting(request) },
            statuses: [200, 400, 422, 503]
        ) { request, _ throws(RequestFailure) in
            try deletePrefix(request)
        }
    }

    /// A token with the rights that a transaction needs for its changes and its results.
    private func asking(
        _ transaction: @escaping @Sendable (ServiceRequest) throws(RequestFailure) -> Transaction
    ) -> RouteNeed {
        .tokenAgain { request, _ throws(RequestFailure) in
            try request.require(try transaction(request))
        }
    }

    private func transact(_ request: ServiceRequest) throws(RequestFailure) {
        let wait = try ServiceRequest.wait(try request.query(["wait"])["wait"])
        try request.checkAnswerRoom()
        try commit(try transaction(of: request), .transaction, request, wait)
    }

    private func pop(_ request: ServiceRequest) throws(RequestFailure) {
        let wait = try ServiceRequest.wait(try popQuery(of: request)["wait"])
        try request.checkAnswerRoom()
        try commit(try popping(request), .pop, request, wait)
    }

    private func popQuery(of request: ServiceRequest) throws(RequestFailure) -> [String: String] {
        try request.query(["prefix", "claim", "ttl", "wait"])
    }

    private func popping(_ request: ServiceRequest) throws(RequestFailure) -> Transaction {
        let query = try popQuery(of: request)
        let prefix = try Self.prefix(query["prefix"])
        let ttl = try query["ttl"].map { (text) throws(RequestFailure) in
            try ServiceRequest.ttl(text)
        }
        let claim = try claim(query["claim"], request)
        guard (claim == nil) == (ttl == nil) else {
            throw RequestFailure(.invalidQuery, "Give claim and ttl, or none of them.")
        }
        if let claim, claim.isMixed(with: prefix) {
            throw RequestFailure(.invalidQuery, "Neither of prefix and claim may begin the other.")
        }
        return Transaction([Change.Step(prefix, .pop(claim), ttl: ttl)])
    }

    /// The claim, whose value is the body, or null.
    private func claim(
        _ prefix: String?,
        _ request: ServiceRequest
    ) throws(RequestFailure) -> Change.Claim? {
        guard let prefix else {
            guard request.exchange.body.isEmpty else {
                throw RequestFailure(.invalidBody, "The body is the value of a claim: give claim.")
            }
            return nil
        }
        let name = try ServiceRequest.name(prefix)
        guard !request.exchange.body.isEmpty else {
            return unsafe Change.Claim(name, value: Self.noValue.bytes)
        }
        try request.jsonBody(depthMax: depthMax)
        return unsafe request.exchange.body.withUnsafeBytes { value in
            unsafe Change.Claim(name, value: value)
        }
    }

    private func deletePrefix(_ request: ServiceRequest) throws(RequestFailure) {
        try commit(try deleting(request), .deletion, request, 0)
    }

    private func deleting(_ request: ServiceRequest) throws(RequestFailure) -> Transaction {
        let query = try request.query(["prefix", "limit"])
        let limit = try ServiceRequest.limit(
            query["limit"],
            default: Change.Step.deletedCountMax,
            max: Change.Step.deletedCountMax
        )
        let action = Change.Action.deletePrefix(countMax: limit, isWhole: false)
        return Transaction([Change.Step(try Self.prefix(query["prefix"]), action)])
    }

    private static func prefix(_ text: String?) throws(RequestFailure) -> PropertyName {
        guard let text else {
            throw RequestFailure(.invalidQuery, "Give prefix.")
        }
        return try ServiceRequest.name(text)
    }

    private func commit(
        _ transaction: Transaction,
        _ form: TransactionAnswer.Form,
        _ request: ServiceRequest,
        _ wait: TimeToLive
    ) throws(RequestFailure) {
        try request.require(transaction)
        let answer = TransactionAnswer(request, transaction, form)
        // Before it waits in a line: the transaction is made already.
        if let kept = request.key?.decision(of: .transaction(transaction)) {
            return answer.receive(kept)
        }
        guard wait == 0 || transaction.awaited.parts.isEmpty else {
            guard request.exchange.body.count <= Self.waitingByteCountMax else {
                throw RequestFailure(
                    .transactionTooLarge,
                    "A transaction that waits has at most \(Self.waitingByteCountMax) bytes."
                )
            }
            return TransactionWait(answer, request.deadlineNanoseconds(wait), self).begin()
        }
        let ask = Ask(at: CallSite(), timing: request.timing)
        do throws(BacklogFull) {
            try store.commitAny(.transaction(transaction), ask, .transaction(answer))
        } catch {
            throw RequestFailure(.backlogFull)
        }
    }

    /// The transaction of the body, whose bytes it borrows: they are valid until the answer.
    private func transaction(of request: ServiceRequest) throws(RequestFailure) -> Transaction {
        try request.jsonBody(depthMax: depthMax)
        do {
            return try unsafe request.exchange.body.withUnsafeBytes {
                (body) throws(InvalidTransaction) in
                try unsafe Transaction(JSONView(body))
            }
        } catch {
            throw RequestFailure(.invalidBody, error.message)
        }
    }
}

/// Answers a transaction.
///
/// An object, because passing on one reference is cheaper than those of a transaction and a
/// request.
final class TransactionAnswer: Sendable {
    /// The content of the answer.
    enum Form: Sendable {
        case transaction
        /// The property that the one step has taken.
        case pop
        /// How many properties the one step has deleted.
        case deletion
    }

    let request: ServiceRequest
    let transaction: Transaction
    private let form: Form

    init(_ request: ServiceRequest, _ transaction: Transaction, _ form: Form) {
        self.request = request
        self.transaction = transaction
        self.form = form
    }

    func receive(_ decision: Decision) {
        guard let commit = request.committed(decision) else { return }
        guard let json = json(commit) else {
            return request.fail(.notFound, detail: Self.nothingToTake)
        }
        request.respond(
            json: json,
            // An answer to no change can be refused.
            bound: commit.isEmpty || commit.isRepeat ? .refuses : .none,
            audit: { $0.commit = commit }
        )
    }

    var author: [UInt8]? { request.caller.author }

    private static let nothingToTake = "There is no property to take."

    /// Nil if the pop has found nothing.
    private func json(_ commit: Commit) -> JSONWriter? {
        var json = JSONWriter(refersToValues: true)
        switch form {
        case .transaction:
            json.transaction(transaction, commit)
        case .pop:
            guard let result = commit.outcome?.results.first, result.property != nil else {
                return nil
            }
            json.pop(transaction.steps[0], result, commit)
        case .deletion:
            let result = commit.outcome?.results.first
            json.object { json in
                json.member("count", result?.count ?? 0)
                json.member("more", result?.hasMore ?? false)
                json.member("revision", commit.revision)
            }
        }
        return json
    }
}
