internal import LatchkeyHTTP

/// A request that the service handles: its HTTP exchange, and the ways to answer it.
///
/// Every answer is counted here, and errors become problem details only here.
struct ServiceRequest: Sendable {
    let exchange: Exchange
    let series: RequestSeries
    /// Nil unless the service sends `Server-Timing`.
    let timing: RequestTiming?
    /// Nil unless repeats of the request get its answer.
    var keeper: AnswerKeeper?

    init(_ exchange: Exchange, _ series: RequestSeries) {
        self.exchange = exchange
        self.series = series
        timing = series.sendsServerTiming ? RequestTiming() : nil
    }

    /// Answers the request, whose bytes are gone afterwards.
    func respond(
        _ status: HTTPStatus,
        body: consuming ResponseBody = .none,
        fields: (inout ResponseFields) -> Void = { _ in }
    ) {
        series.record(
            status,
            startedNanoseconds: exchange.startedNanoseconds,
            receivedByteCount: exchange.body.count,
            sentByteCount: exchange.method == .head ? 0 : body.count
        )
        let timing = timing?.field(startedNanoseconds: exchange.startedNanoseconds)
        let keptBody = keeper == nil ? [] : body.copied
        var keptFields: [ResponseField]?
        exchange.respond(status, body: body) { answer in
            if keeper == nil {
                fields(&answer)
            } else {
                keptFields = answer.record(fields)
            }
            if let timing {
                answer.add("Server-Timing", timing)
            }
        }
        keeper?.keep(status, fields: keptFields, body: keptBody)
    }

    func respond(json: [UInt8]) {
        respond(.ok, body: .bytes(json)) { answer in
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
        fields: (inout ResponseFields) -> Void = { _ in }
    ) {
        respond(
            HTTPStatus(rawValue: UInt16(problem.status)),
            body: .bytes(problem.json(detail: detail, extensions: extensions))
        ) { answer in
            answer.add("Content-Type", "application/problem+json")
            if let seconds = problem.retryAfterSeconds {
                answer.add("Retry-After", UInt64(seconds))
            }
            fields(&answer)
        }
    }

    func fail(_ failure: RequestFailure) {
        fail(failure.problem, detail: failure.detail)
    }
}

/// An error that a request is answered with.
struct RequestFailure: Error {
    let problem: Problem
    /// A sentence about this occurrence, without text from the client.
    var detail: String?

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
    var count: Int {
        switch self {
        case .none: 0
        case .text(let text): text.utf8CodeUnitCount
        case .bytes(let bytes): bytes.count
        case .owned(let bytes, _): bytes.count
        }
    }

    var copied: [UInt8] {
        switch self {
        case .none: []
        case .text(let text): Array(Bytes(text))
        case .bytes(let bytes): bytes
        case .owned(let bytes, _): unsafe Array(bytes)
        }
    }
}
