package import LatchkeyMetrics

/// Metrics of the rights of clients, read at each scrape.
package enum AccessMetrics {
    private static let tokens = MetricFamily(
        "latchkey_access_tokens",
        .gauge,
        help: "Tokens that count; 0 if the service asks for none."
    )
    private static let insecure = MetricFamily(
        "latchkey_access_insecure",
        .gauge,
        help: "1 if other machines can reach the service and everybody may do everything, else 0."
    )

    package static func register(
        _ access: AccessControl?,
        isInsecure: Bool,
        in registry: MetricRegistry
    ) {
        registry.collect([tokens, insecure]) { writer in
            writer.begin(tokens)
            writer.sample(.none, UInt64(access?.tokenCount ?? 0))
            writer.begin(insecure)
            writer.sample(.none, UInt64(isInsecure ? 1 : 0))
        }
    }
}
