package import LatchkeyMetrics

/// Counts requests that were refused because their client has its share.
package struct ShareRefusals: Sendable {
    private static let family = MetricFamily(
        "latchkey_client_share_refusals_total",
        .counter,
        help: "Requests and connections refused because their client has its share, by what it is "
            + "a share of."
    )

    private let counter: Counter

    /// - Parameters:
    ///   - registry: Shows the counter; nil for a counter that is not shown.
    ///   - resource: The resource that is shared.
    package init(_ registry: MetricRegistry? = nil, _ resource: String = "") {
        counter = registry?.counter(Self.family, Labels([("resource", resource)])) ?? Counter()
    }

    package func add() {
        counter.add()
    }
}
