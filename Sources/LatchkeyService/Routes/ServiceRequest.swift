internal import LatchkeyHTTP
internal import LatchkeyStore

/// A request that the service handles: its HTTP exchange, and the ways to answer it.
///
/// Every answer is counted here, and errors become problem details only here.
struct ServiceRequest: Sendable {
    let exchange: Exchange
    let series: RequestSeries
    /// Nil unless the service sends `Server-Timing`.
    let timing: RequestTiming?
    /// Who has sent it, once ``Admission`` has found out.
    var caller: Caller
    /// Nil unless repeats of the request get its answer.
    var keeper: AnswerKeeper?

    init(_ exchange: Exchange, _ series: RequestSeries, _ caller: Caller) {
        self.exchange = exchange
        self.caller = caller
        self.series = series
        timing = series.sendsServerTiming ? RequestTiming() : nil
    }

    /// The client's part in the budget of unsent answers.
    var answers: ClientBudget { series.answers.part(of: client) }

    /// Answers the request, whose bytes are gone afterwards.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - body: The body. A long one is charged to the budget of unsent answers.
    ///   - bound: What happens to a long body beyond the budget. By default, a read is refused:
    ///     nothing was changed.
    ///   - fields: Adds the header fields.
    func respond(
        _ status: HTTPStatus,
        body: consuming ResponseBody = .none,
        bound: AnswerBound = .refusesReads,
        fields: (inout ResponseFields) -> Void = { _ in }
    ) {
        if let keeper, keeper.isPreview {
            let keptBody = keeper.keeps(status, body.count) ? body.copied : nil
            keeper.keep(status, fields: exchange.preview(fields), body: keptBody)
            return
        }
        let budget = body.count > ResponseBody.copiedBytesMax ? answers : nil
        if let budget, let failure = charge(body.heldByteCount, to: budget, status, bound) {
            fail(failure)
            return
        }
        series.record(
            status,
            startedNanoseconds: exchange.startedNanoseconds,
            receivedByteCount: exchange.body.count,
            sentByteCount: exchange.method == .head ? 0 : body.count
        )
        let timing = timing?.field(startedNanoseconds: exchange.startedNanoseconds)
        let keptBody = keeper.flatMap { $0.keeps(status, body.count) ? body.copied : nil }
        var keptFields: [ResponseField]?
        exchange.respond(status, body: body, budget: budget) { answer in
            if keeper == nil {
                fields(&answer)
            } else {
                keptFields = answer.record(fields)
            }
            if let timing {
                answer.add("Server-Timing", text: timing)
            }
        }
        keeper?.keep(status, fields: keptFields, body: keptBody)
    }

    /// What is to be stored with a commit: the key of the request, and the answer that `respond`
    /// makes; nil if the request has no key.
    func note(_ respond: (ServiceRequest) -> Void) -> [UInt8]? {
        keeper?.note(self, respond)
    }

    /// Answers a request that was taken away: no client gets the answer, so it is not counted.
    func answerInVain() {
        exchange.respond(.unavailable)
    }

    private func charge(
        _ count: Int,
        to budget: ClientBudget,
        _ status: HTTPStatus,
        _ bound: AnswerBound
    ) -> RequestFailure? {
        let isRefusable =
            switch bound {
            case .refuses: true
            case .refusesReads: status == .ok && exchange.method == .get
            case .none: false
            }
        guard isRefusable else {
            budget.add(count)
            return nil
        }
        return failure(budget.charge(count))
    }

    private func failure(_ charge: AnswerBudget.Charge) -> RequestFailure? {
        switch charge {
        case .charged:
            return nil
        case .full:
            return RequestFailure(.tooManyAnswers)
        case .shareTaken:
            series.countAnswerShareRefusal()
            return .shareTaken(
                "\(series.answers.clientByteCountMax) bytes of answers that it has not read "
                    + "(--answer-bytes)"
            )
        }
    }

    /// Refuses a request, before it changes anything, if its answer could be long and there is no
    /// room for one.
    func checkAnswerRoom() throws(RequestFailure) {
        if let failure = failure(answers.ask()) {
            throw failure
        }
    }

    func respond(json: JSONWriter, bound: AnswerBound = .refusesReads) {
        respond(json: json.body, bound: bound)
    }

    func respond(json: [UInt8]) {
        respond(json: .bytes(json), bound: .refusesReads)
    }

    private func respond(json: consuming ResponseBody, bound: AnswerBound) {
        respond(.ok, body: json, bound: bound) { answer in
            answer.add("Content-Type", "application/json")
            answer.mustBeRevalidated()
        }
    }

    func respond(html: String) {
        respond(.ok, body: .bytes(Array(html.utf8))) { answer in
            answer.add("Content-Type", "text/html; charset=utf-8")
            answer.mustBeRevalidated()
        }
    }

    /// Answers with a problem.
    func fail(
        _ problem: Problem,
        detail: String? = nil,
        extensions: KeyValuePairs<String, Int> = [:],
        retryAfterSeconds: Int? = nil,
        fields: (inout ResponseFields) -> Void = { _ in }
    ) {
        respond(
            HTTPStatus(rawValue: UInt16(problem.status)),
            body: .bytes(problem.json(detail: detail, extensions: extensions))
        ) { answer in
            answer.add("Content-Type", "application/problem+json")
            if let seconds = retryAfterSeconds ?? problem.retryAfterSeconds {
                answer.add("Retry-After", UInt64(seconds))
            }
            if problem == .unauthorized {
                // RFC 6750, section 3. The detail says what is wrong with a token that was sent.
                answer.add(
                    "WWW-Authenticate",
                    text: #"Bearer realm="latchkey""#
                        + (detail == nil ? "" : #", error="invalid_token""#)
                )
            }
            fields(&answer)
        }
    }

    func fail(_ failure: RequestFailure) {
        fail(
            failure.problem,
            detail: failure.detail,
            retryAfterSeconds: failure.retryAfterSeconds
        )
    }
}

/// What happens to a long answer for which the budget of unsent answers has no room.
enum AnswerBound {
    /// A successful answer to `GET` is refused, no other.
    case refusesReads
    /// It is refused. Only where nothing was changed.
    case refuses
    /// It is sent.
    case none
}

/// An error that a request is answered with.
struct RequestFailure: Error {
    let problem: Problem
    /// A sentence about this occurrence, without text from the client.
    var detail: String?
    /// After how long the client may try again; nil for what the problem says.
    var retryAfterSeconds: Int?

    init(_ problem: Problem, _ detail: String? = nil) {
        self.problem = problem
        self.detail = detail
    }
}

extension ResponseFields {
    /// Tells caches to ask the service before each use of the answer, because state can change at
    /// any time (RFC 9111, section 5.2.2.4).
    mutating func mustBeRevalidated() {
        add("Cache-Control", "no-cache")
    }
}

extension ResponseBody {
    var copied: [UInt8] {
        switch self {
        case .none: []
        case .text(let text): Array(Bytes(text))
        case .bytes(let bytes): bytes
        case .owned(let bytes, _): unsafe Array(bytes)
        case .parts(let parts, _, _): unsafe parts.flatMap { unsafe Array($0) }
        }
    }
}
