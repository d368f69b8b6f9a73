internal import LatchkeyMetrics

/// The counters of the watches.
struct WatchCounters: Sendable {
    private static let eventsFamily = MetricFamily(
        "latchkey_watch_events_total",
        .counter,
        help: "Events sent to watchers; an event for several watchers counts for each."
    )
    private static let gapsFamily = MetricFamily(
        "latchkey_watch_gaps_total",
        .counter,
        help: "Watches that began with a gap, because the history they needed was lost."
    )

    let events: Counter
    let gaps: Counter

    /// Counters outside any registry.
    init() {
        events = Counter()
        gaps = Counter()
    }

    init(_ registry: MetricRegistry) {
        events = registry.counter(Self.eventsFamily)
        gaps = registry.counter(Self.gapsFamily)
    }
}
