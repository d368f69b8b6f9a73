package import LatchkeyHTTP
package import LatchkeyMetrics

/// The objects with which the parts of a service register when they are made.
package struct ServiceFrame: Sendable {
    private static let answerBytes = MetricFamily(
        "latchkey_answer_bytes",
        .gauge,
        help: "Bytes that unsent answers hold.",
        unit: "bytes"
    )
    private static let logDropped = MetricFamily(
        "latchkey_log_dropped_total",
        .counter,
        help: "Lines of the log dropped because of a slow reader or a failed write."
    )

    package let log: Log
    package let registry = MetricRegistry()
    package let bounds: ServiceBounds
    package let closing = Closing()
    /// The budget of unsent answers.
    package let answers: AnswerBudget
    private let http: HTTPServerConfiguration

    /// - Parameters:
    ///   - http: Has the share of a client.
    ///   - answerByteCountMax: How many bytes unsent answers hold.
    ///   - log: The log of the service.
    package init(_ http: HTTPServerConfiguration, answerByteCountMax: Int, _ log: Log) {
        self.http = http
        self.log = log
        let answers = AnswerBudget(
            byteCountMax: answerByteCountMax,
            clientByteCountMax: http.share(of: answerByteCountMax)
        )
        self.answers = answers
        bounds = ServiceBounds(registry)
        bounds.add("answer-bytes", answerByteCountMax) { answers.byteCount }
        registry.collect([Self.answerBytes]) { writer in
            writer.begin(Self.answerBytes)
            writer.sample(.none, UInt64(answers.byteCount))
        }
        registry.collect([Self.logDropped]) { writer in
            writer.begin(Self.logDropped)
            writer.sample(.none, LineWriter.standardError.droppedTotal)
        }
    }

    /// Each client gets one Nth of the resources that all use.
    package var clientShare: Int { http.clientShare }

    /// `countMax` places, of which each client gets its share.
    ///
    /// - Parameters:
    ///   - countMax: How many there are.
    ///   - resource: The name of the places for the metric of refused clients; nil if a client that
    ///     has its share is not refused.
    /// - Returns: The places.
    package func places(_ countMax: Int, _ resource: String? = nil) -> SharedPlaces {
        SharedPlaces(
            countMax: countMax,
            clientCountMax: http.share(of: countMax),
            refusals: resource.map { ShareRefusals(registry, $0) }
        )
    }
}
