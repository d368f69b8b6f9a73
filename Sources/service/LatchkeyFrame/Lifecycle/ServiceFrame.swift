package import LatchkeyHTTP
package import LatchkeyMetrics

/// What the parts of a service register themselves with, where they are made.
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
    /// What unsent answers hold.
    package let answers: AnswerBudget
    private let http: HTTPServerConfiguration

    /// - Parameters:
    ///   - http: Says the share of a client.
    ///   - answerByteCountMax: How many bytes unsent answers hold.
    ///   - log: Of the service.
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

    /// Clients get this part each of what all use.
    package var clientShare: Int { http.clientShare }

    /// Places for so many, of which each client gets its share.
    ///
    /// - Parameters:
    ///   - countMax: How many there are.
    ///   - resource: What clients are refused who have their share; nil if that is no refusal.
    /// - Returns: The places.
    package func places(_ countMax: Int, _ resource: String? = nil) -> SharedPlaces {
        SharedPlaces(
            countMax: countMax,
            clientCountMax: http.share(of: countMax),
            refusals: resource.map { ShareRefusals(registry, $0) }
        )
    }
}
