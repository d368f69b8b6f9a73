internal import CLatchkeySystem
package import LatchkeyHTTP
package import LatchkeyMetrics
internal import LatchkeyStrategies

/// Counts requests, their durations and the bytes of their bodies.
///
/// The counters of every route, method and status are made at start, so nothing is looked up by
/// name when a request is counted. A scrape has a series from its first request on. Series that an
/// alert or the dashboard reads by status are there from the start, because the first value of a
/// series is not an increase for Prometheus. No label names a property. Answers that the server
/// makes before the service sees a request, such as 408, are in the metrics of connections.
package struct RequestMetrics: Sendable {
    /// Makes the writer of a route's lines in the audit log, for one method.
    ///
    /// If the requests change something, each of them has a line.
    package typealias AuditMaker =
        @Sendable (
            HTTPMethod, _ route: String, _ changes: Bool
        ) -> any RequestAudit

    private static let requests = MetricFamily(
        "latchkey_http_requests_total",
        .counter,
        help: "Requests answered, by method, route and status."
    )
    private static let durations = MetricFamily(
        "latchkey_http_request_duration_seconds",
        .histogram,
        help: "Time from the end of a request's head to its answer, by kind of request.",
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
    /// By the number of the kind.
    private let durations: [Histogram]
    private let receivedBytes: Counter
    private let sentBytes: Counter
    private let sendsServerTiming: Bool
    private let answers: AnswerBudget
    private let answerShareRefusals: ShareRefusals
    /// Nil without an audit log.
    private let audit: AuditMaker?
    /// Nil if failed requests have no lines in the log.
    private let failures: FailedRequests?
    /// Nil if requests are not counted by name and token.
    package let traffic: Traffic?
    /// Nil if the state is that of this service alone.
    private let age: StateAge?
    /// The series of all routes.
    private let all = Guarded<[RequestSeries]>([])

    package init(
        _ registry: MetricRegistry,
        sendsServerTiming: Bool,
        answers: AnswerBudget,
        audit: AuditMaker? = nil,
        failures: FailedRequests? = nil,
        traffic: Traffic? = nil,
        age: StateAge? = nil
    ) {
        self.registry = registry
        durations = RequestKind.allCases.map { kind in
            registry.histogram(
                Self.durations,
                Labels([("kind", "\(kind)")]),
                bounds: .requestDurations,
                fromStart: false
            )
        }
        self.age = age
        self.audit = audit
        self.failures = failures
        self.traffic = traffic
        self.answers = answers
        answerShareRefusals = ShareRefusals(registry, "answers")
        self.sendsServerTiming = sendsServerTiming
        receivedBytes = registry.counter(Self.received)
        sentBytes = registry.counter(Self.sent)
    }

    /// The series of a method and a route, with a counter for each of these statuses.
    ///
    /// Requests that change something have a line each in the audit log; those that read the store
    /// can say how new it must be.
    package func series(
        method: HTTPMethod,
        route: String,
        statuses: [UInt16],
        changes: Bool,
        isRead: Bool = false
    ) -> RequestSeries {
        let labels = [(name: "method", value: "\(method.name)"), (name: "route", value: route)]
        let counters = RequestCounters(
            statuses: statuses,
            counts: (statuses + [nil]).map { status in
                registry.counter(
                    Self.requests,
                    Labels(labels + [("status", status.map { "\($0)" } ?? "other")]),
                    fromStart: Self.isFromStart(method, route, status)
                )
            },
            durations: durations[RequestKind(method, route).rawValue],
            receivedBytes: receivedBytes,
            sentBytes: sentBytes,
            sendsServerTiming: sendsServerTiming,
            answers: answers,
            answerShareRefusals: answerShareRefusals,
            audit: audit.map { $0(method, route, changes) },
            failures: failures,
            traffic: traffic,
            route: "\(method.name) \(route)",
            namesProperty: route.hasPrefix("/v1/properties/{name}"),
            changes: changes,
            isRead: isRead,
            age: route.hasPrefix("/v1/") ? age : nil
        )
        let series = RequestSeries(counters)
        all.write { $0.append(series) }
        return series
    }

    /// Whether a scrape has the counter before its first request.
    private static func isFromStart(
        _ method: HTTPMethod,
        _ route: String,
        _ status: UInt16?
    ) -> Bool {
        switch status {
        case 500, 503, 507: true
        // The hits and misses of a cache.
        case 200, 304, 404:
            route == "/v1/properties/{name}" && (method == .get || method == .head)
        case _: false
        }
    }

    /// The requests that were answered so far: the sums of what a scrape shows.
    package var totals: RequestTotals {
        all.read { $0 }.reduce(into: RequestTotals()) { $1.add(to: &$0) }
    }
}

/// How many requests were answered, and how many of them with an error.
package struct RequestTotals: Sendable, Equatable {
    package var all: UInt64 = 0
    /// With a status from 400 to 499.
    package var clientErrors: UInt64 = 0
    /// With a status from 500.
    package var serverErrors: UInt64 = 0
}

/// The counters of one route and method, and the other things that its requests have in common.
///
/// **Design.** A handle, so that a request copies no more than a pointer.
///
/// SAFETY: `@safe` and unmanaged, because the object is never freed: all threads would write to its
/// reference count for every request. A service has as many of them as routes and methods.
@safe
package struct RequestSeries: Sendable {
    private let counters: Unmanaged<RequestCounters>

    fileprivate init(_ counters: RequestCounters) {
        unsafe self.counters = Unmanaged.passRetained(counters)
    }

    package var sendsServerTiming: Bool {
        unsafe counters._withUnsafeGuaranteedRef { $0.sendsServerTiming }
    }

    /// Whether its requests read the store, and can say how new it must be.
    package var isRead: Bool { unsafe counters._withUnsafeGuaranteedRef { $0.isRead } }

    /// The time when the state was up to date with that of others, if they change it.
    @inline(__always)
    package var level: StateAge.Level {
        unsafe counters._withUnsafeGuaranteedRef { $0.age?.level ?? .none }
    }

    /// The budget of unsent answers.
    package var answers: AnswerBudget { unsafe counters._withUnsafeGuaranteedRef { $0.answers } }

    /// Counts a request whose client has its share of unsent answers.
    package func countAnswerShareRefusal() {
        unsafe counters._withUnsafeGuaranteedRef { $0.answerShareRefusals.add() }
    }

    /// Counts a request before its answer is sent.
    package func record(
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

    /// Adds the outcome of a request to the audit log, if it is to have a line there.
    ///
    /// - Parameters:
    ///   - request: Not answered yet.
    ///   - status: The status of its answer.
    ///   - detail: Adds the effect of the request, if it has a line.
    @inline(__always)
    package func audit(
        _ request: ServiceRequest,
        _ status: HTTPStatus,
        _ detail: (inout AuditDetail) -> Void
    ) {
        unsafe counters._withUnsafeGuaranteedRef { counters in
            if counters.hasLine(status) { counters.audit?.note(request, status, detail) }
        }
    }

    /// Counts the name and the sender of one request in many.
    @inline(__always)
    func noteTraffic(_ request: ServiceRequest, _ status: HTTPStatus) {
        guard request.exchange.isSampled(oneIn: Traffic.samplingMean) else { return }
        unsafe counters._withUnsafeGuaranteedRef { counters in
            counters.traffic?.note(request, status, namesProperty: counters.namesProperty)
        }
    }

    /// Logs a request that the service has failed.
    func noteFailure(_ request: ServiceRequest, _ status: HTTPStatus, _ problem: ProblemText) {
        guard status.rawValue >= 500 else { return }
        unsafe counters._withUnsafeGuaranteedRef { counters in
            counters.failures?.note(request, counters.route, status, problem)
        }
    }

    /// The writer of the requests to the audit log; nil without one.
    package var routeAudit: (any RequestAudit)? {
        unsafe counters._withUnsafeGuaranteedRef { $0.audit }
    }

    /// Adds the requests that were counted.
    fileprivate func add(to totals: inout RequestTotals) {
        unsafe counters._withUnsafeGuaranteedRef { $0.add(to: &totals) }
    }

    /// Counts bytes of a request's body that was read in pieces.
    package func recordReceived(_ byteCount: Int) {
        unsafe counters._withUnsafeGuaranteedRef { $0.recordReceived(byteCount) }
    }

    /// Counts bytes of an answer's body that is sent in pieces.
    package func recordSent(_ byteCount: Int) {
        unsafe counters._withUnsafeGuaranteedRef { $0.recordSent(byteCount) }
    }
}

private final class RequestCounters: Sendable {
    let sendsServerTiming: Bool
    let answers: AnswerBudget
    let answerShareRefusals: ShareRefusals
    let audit: (any RequestAudit)?
    let failures: FailedRequests?
    let traffic: Traffic?
    /// Method and route, as "GET /v1/properties/{name}".
    let route: String
    let namesProperty: Bool
    let age: StateAge?
    let isRead: Bool
    /// Beside `audit`, so that reads do not touch its reference count.
    private let isAudited: Bool
    private let changes: Bool
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
        answerShareRefusals: ShareRefusals,
        audit: (any RequestAudit)?,
        failures: FailedRequests?,
        traffic: Traffic?,
        route: String,
        namesProperty: Bool,
        changes: Bool,
        isRead: Bool,
        age: StateAge?
    ) {
        self.audit = audit
        self.failures = failures
        self.traffic = traffic
        self.route = route
        self.namesProperty = namesProperty
        self.isRead = isRead
        self.age = age
        isAudited = audit != nil
        self.changes = changes
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

    func add(to totals: inout RequestTotals) {
        for (index, counter) in counts.enumerated() {
            let count = counter.value
            totals.all &+= count
            switch index < statuses.count ? statuses[index] : 0 {
            case 400..<500: totals.clientErrors &+= count
            case 500...: totals.serverErrors &+= count
            default: break
            }
        }
    }

    /// Whether a request with this answer is to have a line in the audit log.
    @inline(__always)
    func hasLine(_ status: HTTPStatus) -> Bool {
        isAudited && (changes || status.isRefusal)
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
