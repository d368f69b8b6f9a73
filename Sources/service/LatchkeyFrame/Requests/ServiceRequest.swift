package import LatchkeyGuards
package import LatchkeyHTTP
package import LatchkeyJSON
package import LatchkeyStore

/// A request that the service handles: its HTTP exchange, and the ways to answer it.
///
/// Every answer is counted here, and errors become problem details only here.
package struct ServiceRequest: Sendable {
    package let exchange: Exchange
    package let series: RequestSeries
    /// Nil unless the service sends `Server-Timing`.
    package let timing: AccessTiming?
    /// The sender, once a step has found it.
    package var caller: Caller
    /// Nil unless repeats of the request get its answer.
    package var witness: (any AnswerWitness)?
    /// The level before anything was read: data that is read can only be newer.
    package private(set) var level: StateAge.Level

    package init(_ exchange: Exchange, _ series: RequestSeries, _ caller: Caller) {
        self.exchange = exchange
        self.caller = caller
        self.series = series
        level = series.level
        timing = series.sendsServerTiming ? AccessTiming() : nil
    }

    /// The client's part in the budget of unsent answers.
    package var answers: ClientBudget { series.answers.part(of: client) }

    /// Answers the request, whose bytes are gone afterwards.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - body: The body. A long one is charged to the budget of unsent answers.
    ///   - bound: The rule for a long body beyond the budget. By default, a read is refused:
    ///     nothing was changed.
    ///   - problem: The problem in the body, if there is one.
    ///   - isKept: Whether a cache may keep the answer to a read, and ask before each use of it.
    ///   - fields: Adds the header fields.
    ///   - audit: Adds the effect of the request, if it has a line in the audit log.
    package func respond(
        _ status: HTTPStatus,
        body: consuming ResponseBody = .none,
        bound: AnswerBound = .refusesReads,
        problem: ProblemText? = nil,
        isKept: Bool = true,
        fields: (inout ResponseFields) -> Void = { _ in },
        audit: (inout AuditDetail) -> Void = { _ in }
    ) {
        let budget = body.count > ResponseBody.copiedBytesMax ? answers : nil
        if let budget, let failure = charge(body.heldByteCount, to: budget, status, bound) {
            witness?.refused()
            fail(failure)
            return
        }
        series.audit(self, status, audit)
        if let problem { series.noteFailure(self, status, problem) }
        series.noteTraffic(self, status)
        let isSent = exchange.method != .head && status != .notModified
        series.record(
            status,
            startedNanoseconds: exchange.startedNanoseconds,
            receivedByteCount: exchange.body.count,
            sentByteCount: isSent ? body.count : 0
        )
        let timing = timing?.field(startedNanoseconds: exchange.startedNanoseconds)
        exchange.respond(status, body: body, budget: budget) { answer in
            fields(&answer)
            if let witness, witness.isRepeat { answer.add("Idempotency-Replayed", "true") }
            if let timing {
                answer.add("Server-Timing", text: timing)
            }
            addAge(to: &answer)
            addCaching(isKept, status, to: &answer)
        }
        witness?.answered()
    }

    /// Says how caches may keep the answer (RFC 9111, section 5.2.2).
    ///
    /// A value can change at any time, so caches ask the service before each use of it. Only caches
    /// of one client keep it: squid 5 applies a 304 for a client's own tag to the value in its
    /// cache, and serves the earlier value with the later tag. No other answer is kept, above all
    /// no error: a missing property can be there a moment later.
    private func addCaching(_ isKept: Bool, _ status: HTTPStatus, to answer: inout ResponseFields) {
        let method = exchange.method
        let isRead = isKept && (method == .get || method == .head) && status.rawValue < 400
        answer.add("Cache-Control", isRead ? "private, no-cache" : "no-store")
    }

    /// Answers with a stream, of which caches keep nothing.
    ///
    /// The request counts now, with the time until the stream begins.
    @discardableResult
    package func respond(
        streaming events: ResponseStream.Events,
        bufferBytesMax: Int = ResponseStream.bufferBytesMax,
        isWhole: Bool = false,
        fields: (inout ResponseFields) -> Void
    ) -> ResponseStream {
        series.noteTraffic(self, .ok)
        series.record(
            .ok,
            startedNanoseconds: exchange.startedNanoseconds,
            receivedByteCount: exchange.body.count,
            sentByteCount: 0
        )
        return exchange.respond(
            .ok,
            streaming: events,
            bufferBytesMax: bufferBytesMax,
            budget: answers,
            isWhole: isWhole
        ) { answer in
            fields(&answer)
            answer.add("Cache-Control", "no-store")
        }
    }

    /// Adds the age that the state can have, if it is that of a leader.
    @inline(__always)
    package func addAge(to answer: inout ResponseFields) {
        if level != .none {
            answer.add("Latchkey-Age", thousandths: level.ageMilliseconds)
        }
    }

    /// Adds the revision of the state that was read, if the service is a replica: the body has it,
    /// too.
    @inline(__always)
    private func add(_ revision: Revision?, to answer: inout ResponseFields) {
        if let revision, level != .none {
            answer.add("Latchkey-Revision", revision)
        }
    }

    /// Counts the age from now on; called before anything is read.
    package mutating func renewLevel() {
        level = series.level
    }

    /// Answers a request that was taken away: no client gets the answer, so it is not counted.
    package func answerInVain() {
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
    /// room for a long one.
    package func checkAnswerRoom() throws(RequestFailure) {
        if let failure = failure(answers.ask()) {
            throw failure
        }
    }

    /// Answers with JSON; `revision` is that of the state, if the body is a state.
    package func respond(
        json: JSONWriter,
        revision: Revision? = nil,
        bound: AnswerBound = .refusesReads,
        audit: (inout AuditDetail) -> Void = { _ in }
    ) {
        respond(json: json.body, revision, bound: bound, audit: audit)
    }

    package func respond(json: [UInt8], audit: (inout AuditDetail) -> Void = { _ in }) {
        respond(json: .bytes(json), nil, bound: .refusesReads, audit: audit)
    }

    private func respond(
        json: consuming ResponseBody,
        _ revision: Revision?,
        bound: AnswerBound,
        audit: (inout AuditDetail) -> Void
    ) {
        respond(
            .ok,
            body: json,
            bound: bound,
            fields: { answer in
                answer.add("Content-Type", "application/json")
                add(revision, to: &answer)
            },
            audit: audit
        )
    }

    /// Answers with a problem.
    package func fail(
        _ problem: Problem,
        detail: String? = nil,
        extensions: KeyValuePairs<String, Int> = [:],
        leader: String? = nil,
        retryAfterSeconds: Int? = nil,
        isForOther: Bool = false,
        fields: (inout ResponseFields) -> Void = { _ in },
        audit: (inout AuditDetail) -> Void = { _ in }
    ) {
        let text = ProblemText(
            problem: problem,
            detail: detail ?? problem.detail(about: exchange),
            extensions: extensions,
            leader: leader
        )
        respond(
            HTTPStatus(rawValue: UInt16(problem.status)),
            body: .bytes(text.json(request: exchange.identifier)),
            problem: text
        ) { answer in
            answer.add("Content-Type", "application/problem+json")
            if !isForOther, let seconds = retryAfterSeconds ?? problem.retryAfterSeconds {
                answer.add("Retry-After", UInt64(seconds))
            }
            if let challenge = problem.challenge(hasToken: detail != nil) {
                answer.add("WWW-Authenticate", challenge)
            }
            if problem == .unsupportedMediaType, exchange.method == .patch {
                answer.addAcceptPatch()
            }
            fields(&answer)
        } audit: { line in
            line.problem = problem
            audit(&line)
        }
    }

    package func fail(_ failure: RequestFailure) {
        fail(
            failure.problem,
            detail: failure.detail,
            retryAfterSeconds: failure.retryAfterSeconds,
            isForOther: failure.isForOther
        )
    }
}

extension Problem {
    /// A sentence with the name of the property in the path of the request.
    fileprivate func detail(about exchange: Exchange) -> String? {
        guard [.notFound, .preconditionFailed, .notAnInteger].contains(self),
            let name = NamePath.shownName(exchange.path)
        else { return nil }
        // The query may ask for the past.
        guard self != .notFound || exchange.query.isEmpty else { return nil }
        return switch self {
        case .notFound: "There is no property \(name). \(advice)"
        case .preconditionFailed: "\(name) does not meet the conditions. \(advice)"
        default: "\(name) is no integer. \(advice)"
        }
    }
}

/// The parts of a body with a problem.
package struct ProblemText {
    package let problem: Problem
    package let detail: String?
    package let extensions: KeyValuePairs<String, Int>
    package let leader: String?

    /// The JSON, with the identifier of the request if it is given.
    package func json(request: String? = nil) -> [UInt8] {
        problem.json(detail: detail, extensions: extensions, leader: leader, request: request)
    }
}

/// The rule for a long answer for which the budget of unsent answers has no room.
package enum AnswerBound {
    /// A successful answer to `GET` is refused, no other.
    case refusesReads
    /// It is refused. Only where nothing was changed.
    case refuses
    /// It is sent.
    case none
}

extension Problem {
    /// The challenge to a client without a token, or with an invalid one, or with one that has too
    /// few rights (RFC 6750, section 3); nil for other problems.
    fileprivate func challenge(hasToken: Bool) -> StaticString? {
        switch self {
        case .unauthorized where hasToken: #"Bearer realm="latchkey", error="invalid_token""#
        case .unauthorized: #"Bearer realm="latchkey""#
        case .forbidden: #"Bearer realm="latchkey", error="insufficient_scope""#
        default: nil
        }
    }
}

extension ResponseFields {
    /// Names the media types of patches (RFC 5789, section 3.1).
    package mutating func addAcceptPatch() {
        add("Accept-Patch", "application/merge-patch+json, application/json")
    }
}
