internal import CLatchkeySystem
internal import LatchkeyHTTP
internal import LatchkeyMetrics

/// Counts requests, how long they took and what they moved.
///
/// The series are made at start for every route, method and status that there can be, so that
/// nothing is looked up by name when a request is counted, and all of them are there, at zero,
/// from the first scrape on. There is never a label for a property.
struct RequestMetrics: Sendable {
    /// Every status that the service answers.
    ///
    /// What is answered before a request reaches it, such as 408, shows in the connections'
    /// metrics.
    static let statuses: [UInt16] = [
        200, 201, 204, 304, 400, 404, 405, 409, 412, 413, 414, 415, 429, 431, 501, 503, 507,
    ]

    /// The series of one route and method.
    struct Series: Sendable {
        fileprivate let counts: [Counter]
        fileprivate let durations: Histogram
    }

    private static let requests = MetricFamily(
        "latchkey_http_requests_total",
        .counter,
        help: "Requests answered, by method, route and status."
    )
    private static let durations = MetricFamily(
        "latchkey_http_request_duration_seconds",
        .histogram,
        help: "From the end of a request's head to its answer.",
        unit: "seconds"
    )
    private static let received = MetricFamily(
        "latchkey_http_request_body_bytes_total",
        .counter,
        help: "Bytes of the bodies of requests.",
        unit: "bytes"
    )
    private static let sent = MetricFamily(
        "latchkey_http_response_body_bytes_total",
        .counter,
        help: "Bytes of the bodies of answers.",
        unit: "bytes"
    )

    private let registry: MetricRegistry
    private let receivedBytes: Counter
    private let sentBytes: Counter

    init(_ registry: MetricRegistry) {
        self.registry = registry
        receivedBytes = registry.counter(Self.received)
        sentBytes = registry.counter(Self.sent)
    }

    func series(method: HTTPMethod, route: String) -> Series {
        let labels = [(name: "method", value: "\(method.name)"), (name: "route", value: route)]
        return Series(
            counts: Self.statuses.map { status in
                registry.counter(Self.requests, Labels(labels + [("status", "\(status)")]))
            },
            durations: registry.histogram(
                Self.durations,
                Labels(labels),
                bounds: .requestDurations
            )
        )
    }

    /// Counts a request that is about to be answered.
    func record(
        _ series: Series,
        status: HTTPStatus,
        startedNanoseconds: UInt64,
        receivedByteCount: Int,
        sentByteCount: Int
    ) {
        guard let index = Self.statuses.firstIndex(of: status.rawValue) else {
            preconditionFailure("A status that is answered is in the table of statuses.")
        }
        series.counts[index].add()
        series.durations.observe(latchkey_system_nanoseconds() &- startedNanoseconds)
        if receivedByteCount > 0 {
            receivedBytes.add(UInt64(receivedByteCount))
        }
        if sentByteCount > 0 {
            sentBytes.add(UInt64(sentByteCount))
        }
    }
}
