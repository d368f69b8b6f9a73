internal import LatchkeyHTTP
internal import LatchkeyMetrics

/// Metrics of the connections, read at each scrape.
enum ConnectionMetrics {
    private static let connections = MetricFamily(
        "latchkey_http_connections",
        .gauge,
        help: "Open connections, by state."
    )
    private static let suspended = MetricFamily(
        "latchkey_http_suspended_requests",
        .gauge,
        help: "Requests whose handler has returned and whose answer is not there yet."
    )
    private static let accepted = MetricFamily(
        "latchkey_http_connections_accepted_total",
        .counter,
        help: "Connections accepted."
    )
    private static let refused = MetricFamily(
        "latchkey_http_connections_refused_total",
        .counter,
        help: "Connections refused because of --max-connections or --max-connections-per-address."
    )
    private static let refusedShare = MetricFamily(
        "latchkey_http_connections_refused_per_address_total",
        .counter,
        help: "Those among the refused connections whose client has its share of them."
    )
    private static let timedOut = MetricFamily(
        "latchkey_http_connections_timed_out_total",
        .counter,
        help: "Connections closed because of a timeout: idle, request, answer, or a slow reader."
    )
    private static let libraryRefused = MetricFamily(
        "latchkey_http_unparsed_requests_total",
        .counter,
        help: "Requests that libmicrohttpd refused by itself: 0, unless it is an unknown version."
    )
    private static let logSuppressed = MetricFamily(
        "latchkey_http_log_suppressed_total",
        .counter,
        help: "Messages of libmicrohttpd left out of the log, because of their rate."
    )
    private static let handshaking = MetricFamily(
        "latchkey_tls_handshaking_connections",
        .gauge,
        help: "Connections whose TLS handshake is not complete."
    )
    private static let handshakes = MetricFamily(
        "latchkey_tls_handshakes_total",
        .counter,
        help: "TLS handshakes that were completed."
    )
    private static let resumed = MetricFamily(
        "latchkey_tls_resumed_handshakes_total",
        .counter,
        help: "TLS handshakes among them that resumed a session."
    )
    private static let handshakesFailed = MetricFamily(
        "latchkey_tls_failed_handshakes_total",
        .counter,
        help: "TLS handshakes that failed or took too long."
    )

    static func register(_ server: HTTPServer, in registry: MetricRegistry) {
        registry.collect(
            [
                connections, suspended, accepted, refused, refusedShare, timedOut, libraryRefused,
                logSuppressed, handshaking, handshakes, resumed, handshakesFailed,
            ]
        ) { writer in
            let now = server.statistics
            writer.begin(connections)
            for (state, count) in [
                ("waiting", now.waiting), ("receiving", now.receiving),
                ("handling", now.handling), ("answering", now.answering),
                ("streaming", now.streaming),
            ] {
                writer.sample(Labels([("state", state)]), UInt64(count))
            }
            writer.begin(suspended)
            writer.sample(.none, UInt64(now.suspended))
            writer.begin(handshaking)
            writer.sample(.none, UInt64(now.handshaking))
            for (family, count) in [
                (accepted, now.acceptedTotal), (refused, now.refusedTotal),
                (refusedShare, now.refusedShareTotal), (timedOut, now.timedOutTotal),
                (libraryRefused, now.libraryRefusedTotal),
                (logSuppressed, now.logSuppressedTotal), (handshakes, now.handshakeTotal),
                (resumed, now.resumedTotal), (handshakesFailed, now.handshakeFailedTotal),
            ] {
                writer.begin(family)
                writer.sample(.none, count)
            }
        }
    }
}
