internal import LatchkeyHTTP
internal import LatchkeyMetrics
internal import LatchkeyStore

/// What the connections do and how full the store is, read at each scrape.
enum ServiceMetrics {
    private static let connections = MetricFamily(
        "latchkey_http_connections",
        .gauge,
        help: "Open connections, by what they are doing."
    )
    private static let suspended = MetricFamily(
        "latchkey_http_suspended_requests",
        .gauge,
        help: "Requests whose handler has returned and whose answer will come later."
    )
    private static let accepted = MetricFamily(
        "latchkey_http_connections_accepted_total",
        .counter,
        help: "Connections accepted."
    )
    private static let refused = MetricFamily(
        "latchkey_http_connections_refused_total",
        .counter,
        help: "Connections over a bound."
    )
    private static let timedOut = MetricFamily(
        "latchkey_http_connections_timed_out_total",
        .counter,
        help: "Connections ended because they were idle, or their request or answer took too long."
    )
    private static let libraryRefused = MetricFamily(
        "latchkey_http_unparsed_requests_total",
        .counter,
        help: "Requests that libmicrohttpd could not parse, and refused or closed by itself."
    )
    private static let logSuppressed = MetricFamily(
        "latchkey_http_log_suppressed_total",
        .counter,
        help: "Messages of libmicrohttpd left out of the log, because there were too many a second."
    )
    private static let logDropped = MetricFamily(
        "latchkey_log_dropped_total",
        .counter,
        help: "Lines of the log that nobody read in time, or that could not be written."
    )
    private static let properties = MetricFamily(
        "latchkey_store_properties",
        .gauge,
        help: "Properties."
    )
    private static let bytes = MetricFamily(
        "latchkey_store_bytes",
        .gauge,
        help: "The length of all names and values together.",
        unit: "bytes"
    )
    private static let revision = MetricFamily(
        "latchkey_store_revision",
        .gauge,
        help: "The revision of the latest commit."
    )

    static func register(
        server: HTTPServer,
        usage: @escaping @Sendable () -> StoreUsage,
        in registry: MetricRegistry
    ) {
        registry.collect(
            [connections, suspended, accepted, refused, timedOut, libraryRefused, logSuppressed]
        ) { writer in
            let now = server.statistics
            writer.begin(connections)
            for (state, count) in [
                ("waiting", now.waiting), ("receiving", now.receiving),
                ("handling", now.handling), ("answering", now.answering),
            ] {
                writer.sample(Labels([("state", state)]), UInt64(count))
            }
            writer.begin(suspended)
            writer.sample(.none, UInt64(now.suspended))
            for (family, count) in [
                (accepted, now.acceptedTotal), (refused, now.refusedTotal),
                (timedOut, now.timedOutTotal), (libraryRefused, now.libraryRefusedTotal),
                (logSuppressed, now.logSuppressedTotal),
            ] {
                writer.begin(family)
                writer.sample(.none, count)
            }
        }
        registry.collect([logDropped]) { writer in
            writer.begin(logDropped)
            writer.sample(.none, LineWriter.standardError.droppedTotal)
        }
        registry.collect([properties, bytes, revision]) { writer in
            let now = usage()
            writer.begin(properties)
            writer.sample(.none, UInt64(now.propertyCount))
            writer.begin(bytes)
            writer.sample(.none, UInt64(now.byteCount))
            writer.begin(revision)
            writer.sample(.none, now.revision)
        }
    }
}
