internal import LatchkeyClient

/// The figures that `latchkey top` reads from a service at one moment.
struct TopReading: Equatable {
    /// When it was read, in seconds of any clock.
    var seconds = 0.0
    /// By the first digit of the status.
    var requests: [Character: Double] = [:]
    var gauges: [String: Double] = [:]
    /// The strategy that serves; nil if the service does not say.
    var strategy: String?
    var locks = MetricsReading()

    private static let gaugeNames: Set<Substring> = [
        "latchkey_http_connections", "latchkey_store_bytes", "latchkey_store_properties",
        "latchkey_watchers", "process_resident_memory_bytes", "process_start_time_seconds",
    ]

    init() {}

    /// - Parameters:
    ///   - text: The text of `/metrics`.
    ///   - seconds: When it was read.
    init(text: String, seconds: Double) {
        self.seconds = seconds
        let samples = MetricSample.all(in: text)
        locks = MetricsReading(samples)
        for sample in samples {
            if sample.name == "latchkey_http_requests_total",
                let digit = sample.labels["status"]?.first
            {
                requests[digit, default: 0] += sample.value
            } else if sample.name == "latchkey_strategy_info" {
                strategy = sample.labels["strategy"]
            } else if Self.gaugeNames.contains(sample.name) {
                gauges[String(sample.name)] = sample.value
            }
        }
    }
}
