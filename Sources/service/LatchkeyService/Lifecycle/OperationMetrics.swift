internal import LatchkeyMetrics
internal import LatchkeyOperations

/// Metrics of the operations, read at each scrape.
enum OperationMetrics {
    private static let present = MetricFamily(
        "latchkey_operations",
        .gauge,
        help: "Operations by state, those in the history included."
    )
    private static let ended = MetricFamily(
        "latchkey_operations_ended_total",
        .counter,
        help: "Operations that have ended, by outcome."
    )

    static func register(_ operations: Operations, in registry: MetricRegistry) {
        registry.collect([present, ended]) { writer in
            let counts = operations.counts
            writer.begin(present)
            for state in OperationState.allCases {
                let count = counts.byState[state] ?? 0
                writer.sample(Labels([("state", state.rawValue)]), UInt64(count))
            }
            writer.begin(ended)
            for outcome in OperationState.allCases where outcome.isFinal {
                writer.sample(
                    Labels([("outcome", outcome.rawValue)]),
                    counts.totalByOutcome[outcome] ?? 0
                )
            }
        }
    }
}
