internal import LatchkeyHTTP
internal import LatchkeyStore
internal import LatchkeyStrategies

/// The route of transactions.
struct TransactionRoutes: Sendable {
    let store: ServedStore
    let depthMax: Int

    func add(to table: inout RouteTable) {
        table.add(
            .post,
            "/v1/transactions",
            needs: .token,
            statuses: [200, 400, 409, 415, 422, 503, 507],
            isRepeatable: true
        ) { request, _ throws(RequestFailure) in
            try transact(request)
        }
    }

    private func transact(_ request: ServiceRequest) throws(RequestFailure) {
        try request.noQuery()
        try request.checkAnswerRoom()
        let transaction = try transaction(of: request)
        try request.require(transaction)
        let answer = TransactionAnswer(request, transaction)
        let observer = TimingObserver(timing: request.timing, site: CallSite())
        do throws(BacklogFull) {
            try store.commitAny(.transaction(transaction), observer, .transaction(answer))
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
/// An object, because a transaction and a request are more references than one that is handed on.
final class TransactionAnswer: Sendable {
    private let request: ServiceRequest
    private let transaction: Transaction

    fileprivate init(_ request: ServiceRequest, _ transaction: Transaction) {
        self.request = request
        self.transaction = transaction
    }

    func receive(_ decision: Decision) {
        if let commit = request.committed(decision) {
            answer(commit, request)
        }
    }

    func note(for commit: Commit) -> [UInt8]? {
        request.note { answer(commit, $0) }
    }

    private func answer(_ commit: Commit, _ request: ServiceRequest) {
        var json = JSONWriter(refersToValues: true)
        json.transaction(transaction, commit)
        request.respond(json: json, bound: commit.isEmpty ? .refuses : .none)
    }
}
