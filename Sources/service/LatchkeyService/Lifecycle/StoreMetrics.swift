internal import LatchkeyMetrics
internal import LatchkeyStore

/// Metrics of the store, read at each scrape; how full the quotas are is in ``ServiceBounds``.
enum StoreMetrics {
    private static let properties = MetricFamily(
        "latchkey_store_properties",
        .gauge,
        help: "Properties in the store."
    )
    private static let bytes = MetricFamily(
        "latchkey_store_bytes",
        .gauge,
        help: "Bytes of all names and values.",
        unit: "bytes"
    )
    private static let revision = MetricFamily(
        "latchkey_store_revision",
        .gauge,
        help: "The revision of the latest commit."
    )
    private static let work = MetricFamily(
        "latchkey_store_work_units_total",
        .counter,
        help: "The work of deciding changes: names visited, and KiB compared or merged."
    )
    private static let evictions = MetricFamily(
        "latchkey_store_evictions_total",
        .counter,
        help: "Properties removed to make room."
    )
    private static let expirations = MetricFamily(
        "latchkey_store_expirations_total",
        .counter,
        help: "Properties removed because their time was over."
    )
    private static let refusals = MetricFamily(
        "latchkey_quota_refusals_total",
        .counter,
        help: "Changes refused because they would exceed the quota."
    )

    static func register(
        _ store: PropertyStore,
        _ expiries: ExpiryQueue,
        _ evictor: Evictor,
        in registry: MetricRegistry
    ) {
        registry.collect([properties, bytes, revision, work]) { writer in
            let now = store.usage
            writer.begin(properties)
            writer.sample(.none, UInt64(now.propertyCount))
            writer.begin(bytes)
            writer.sample(.none, UInt64(now.byteCount))
            writer.begin(revision)
            writer.sample(.none, now.revision)
            writer.begin(work)
            writer.sample(.none, now.workUnits)
        }
        registry.collect([evictions, expirations]) { writer in
            for (family, count) in [(evictions, evictor.count), (expirations, expiries.count)] {
                writer.begin(family)
                writer.sample(.none, count)
            }
        }
        registerQuotas({ store.quotaUsage }, in: registry)
    }

    /// Adds nothing if there are no quotas.
    private static func registerQuotas(
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
