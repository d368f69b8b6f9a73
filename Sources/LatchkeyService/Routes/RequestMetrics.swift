internal import CLatchkeySystem
internal import LatchkeyHTTP
internal import LatchkeyMetrics

/// Counts requests, their durations and the bytes of their bodies.
///
/// The series of every route, method and status are made at start. So nothing is looked up by name
/// when a request is counted, and the first scrape already has all series, with zeros. No label
/// names a property. Answers that the server makes before the service sees a request, such as 408,
/// are in the metrics of connections.
struct RequestMetrics: Sendable {
    private static let requests = MetricFamily(
        "latchkey_http_requests_total",
        .counter,
        help: "Requests answered, by method, route and status."
    )
    private static let durations = MetricFamily(
        "latchkey_http_request_duration_seconds",
        .histogram,
        help: "Time from the end of a request's head to its answer.",
        unit: "seconds"
    )
    private static let received = MetricFamily(
        "latchkey_http_request_body_bytes_total",
        .counter,
        help: "Bytes of request bodies.",
        unit: "bytes"
    )
    private static let sent = MetricFamily(
        "latchkey_http_response_body_bytes_total",
        .counter,
        help: "Bytes of answer bodies.",
        unit: "bytes"
    )

    private let registry: MetricRegistry
    private let receivedBytes: Counter
    private let sentBytes: Counter
    private let sendsServerTiming: Bool
    private let answers: AnswerBudget
    private let answerShareRefusals: ShareRefusals

    init(_ registry: MetricRegistry, sendsServerTiming: Bool, answers: AnswerBudget) {
        self.registry = registry
        self.answers = answers
        answerShareRefusals = ShareRefusals(registry, "answers")
        self.sendsServerTiming = sendsServerTiming
        receivedBytes = registry.counter(Self.received)
        sentBytes = registry.counter(Self.sent)
    }

    func series(method: HTTPMethod, route: String, statuses: [UInt16]) -> RequestSeries {
        let labels = [(name: "method", value: "\(method.name)"), (name: "route", value: route)]
        let counters = RequestCounters(
            statuses: statuses,
            counts: (statuses.map { "\($0)" } + ["other"]).map { status in
                registry.counter(Self.requests, Labels(labels + [("status", status)]))
            },
            durations: registry.histogram(
                Self.durations,
                Labels(labels),
                bounds: .requestDurations
            ),
            receivedBytes: receivedBytes,
            sentBytes: sentBytes,
            sendsServerTiming: sendsServerTiming,
            answers: answers,
            answerShareRefusals: answerShareRefusals
        )
        return RequestSeries(counters)
    }
}

/// The counters of one route and method, and what else its requests have in common.
///
/// **Design.** A handle, which a request carries instead of something to copy.
///
/// SAFETY: `@safe` and unmanaged, because the object is never freed: all threads would write to its
/// reference count for every request. A service has as many of them as routes and methods.
@safe
struct RequestSeries: Sendable {
    private let counters: Unmanaged<RequestCounters>

    fileprivate init(_ counters: RequestCounters) {
        unsafe self.counters = Unmanaged.passRetained(counters)
    }

    var sendsServerTiming: Bool {
        unsafe counters._withUnsafeGuaranteedRef { $0.sendsServerTiming }
    }

    /// What unsent answers hold.
    var answers: AnswerBudget { unsafe counters._withUnsafeGuaranteedRef { $0.answers } }

    /// Counts a request whose client has its share of unsent answers.
    func countAnswerShareRefusal() {
        unsafe counters._withUnsafeGuaranteedRef { $0.answerShareRefusals.add() }
    }

    /// Counts a request before its answer is sent.
    func record(
        _ status: HTTPStatus,
        startedNanoseconds: UInt64,
        receivedByteCount: Int,
        sentByteCount: Int
    ) {
        unsafe counters._withUnsafeGuaranteedRef {
            $0.record(
                status,
                startedNanoseconds: startedNanoseconds,
                receivedByteCount: receivedByteCount,
                sentByteCount: sentByteCount
            )
        }
    }

    /// Counts bytes of a request's body that was read in pieces.
    func recordReceived(_ byteCount: Int) {
        unsafe counters._withUnsafeGuaranteedRef { $0.recordReceived(byteCount) }
    }

    /// Counts bytes of an answer's body that is sent in pieces.
    func recordSent(_ byteCount: Int) {
        unsafe counters._withUnsafeGuaranteedRef { $0.recordSent(byteCount) }
    }
}

private final class RequestCounters: Sendable {
    let sendsServerTiming: Bool
    let answers: AnswerBudget
    let answerShareRefusals: ShareRefusals
    private let statuses: [UInt16]
    /// One counter for each status, and one for all other statuses.
    private let counts: [Counter]
    private let durations: Histogram
    private let receivedBytes: Counter
    private let sentBytes: Counter

    init(
        statuses: [UInt16],
        counts: [Counter],
        durations: Histogram,
        receivedBytes: Counter,
        sentBytes: Counter,
        sendsServerTiming: Bool,
        answers: AnswerBudget,
        answerShareRefusals: ShareRefusals
    ) {
        self.answers = answers
        self.answerShareRefusals = answerShareRefusals
        self.statuses = statuses
        self.counts = counts
        self.durations = durations
        self.receivedBytes = receivedBytes
        self.sentBytes = sentBytes
        self.sendsServerTiming = sendsServerTiming
    }

    func record(
        _ status: HTTPStatus,
        startedNanoseconds: UInt64,
        receivedByteCount: Int,
        sentByteCount: Int
    ) {
        let index = statuses.firstIndex(of: status.rawValue) ?? statuses.count
        counts[index].add()
        durations.observe(latchkey_system_nanoseconds() &- startedNanoseconds)
        recordReceived(receivedByteCount)
        recordSent(sentByteCount)
    }

    func recordReceived(_ byteCount: Int) {
        if byteCount > 0 {
            receivedBytes.add(UInt64(byteCount))
        }
    }

    func recordSent(_ byteCount: Int) {
        if byteCount > 0 {
            sentBytes.add(UInt64(byteCount))
        }
    }
}
