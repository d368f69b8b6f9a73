internal import LatchkeyMetrics
internal import LatchkeyStore

/// Metrics of the quotas, read at each scrape; how full they are is in ``ServiceBounds``.
enum QuotaMetrics {
    private static let refusals = MetricFamily(
        "latchkey_quota_refusals_total",
        .counter,
        help: "Changes refused because they would exceed the quota."
    )

    /// Adds nothing if there are no quotas.
    static func register(
        _ usage: @escaping @Sendable () -> [QuotaUsage],
        in registry: MetricRegistry
    ) {
        let labels = usage().map { Labels([("prefix", $0.quota.text)]) }
        guard !labels.isEmpty else { return }
        registry.collect([refusals]) { writer in
            writer.begin(refusals)
            for (label, now) in zip(labels, usage()) {
                writer.sample(label, now.refusalCount)
            }
        }
    }
}
