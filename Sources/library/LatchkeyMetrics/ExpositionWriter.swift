/// Writes families of samples as text.
///
/// The caller begins each family once and writes all its samples before it begins another; both
/// formats demand that. The head of a family is written even if no sample follows.
package struct ExpositionWriter {
    package let format: ExpositionFormat
    private(set) var text: [UInt8] = []
    private var family: MetricFamily?

    init(format: ExpositionFormat) {
        self.format = format
    }

    /// Writes the head of a family.
    package mutating func begin(_ family: MetricFamily) {
        self.family = family
        let isOpenMetrics = format == .openMetrics
        let name = isOpenMetrics ? family.openMetricsName : family.name
        append("# HELP ", name, " ")
        append(Labels.escape(family.help, quotes: isOpenMetrics), "\n")
        append("# TYPE ", name, " ", family.kind.rawValue, "\n")
        if isOpenMetrics, let unit = family.unit {
            append("# UNIT ", name, " ", unit, "\n")
        }
    }

    /// Writes the sample of a counter or a gauge.
    package mutating func sample(_ labels: Labels, _ value: UInt64) {
        line(suffix: "", labels.text, "\(value)")
    }

    /// Writes the sample of a counter or a gauge.
    package mutating func sample(_ labels: Labels, _ value: Double) {
        line(suffix: "", labels.text, Self.render(value))
    }

    /// Writes all samples of a histogram.
    ///
    /// The count is the sum of the buckets, so that the last bucket agrees with it even if values
    /// arrived while the buckets were read.
    package mutating func histogram(
        _ labels: Labels,
        _ bounds: HistogramBounds,
        _ reading: HistogramReading
    ) {
        precondition(reading.buckets.count == bounds.bucketCount, "The bounds are of another one.")
        let separator = labels.text.isEmpty ? "" : ","
        var count: UInt64 = 0
        for (bucket, bound) in zip(reading.buckets, bounds.texts) {
            count &+= bucket
            line(suffix: "_bucket", "\(labels.text)\(separator)le=\"\(bound)\"", "\(count)")
        }
        line(suffix: "_sum", labels.text, Self.render(reading.sum))
        line(suffix: "_count", labels.text, "\(count)")
    }

    /// Ends the text and returns it.
    consuming func finish() -> [UInt8] {
        if format == .openMetrics {
            append("# EOF\n")
        }
        return text
    }

    private mutating func line(suffix: String, _ labels: String, _ value: String) {
        guard let family else { preconditionFailure("A sample belongs to a family.") }
        append(family.name, suffix)
        if !labels.isEmpty {
            append("{", labels, "}")
        }
        append(" ", value, "\n")
    }

    private mutating func append(_ pieces: String...) {
        for piece in pieces {
            text.append(contentsOf: piece.utf8)
        }
    }

    private static func render(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        return "\(value)"
    }
}
