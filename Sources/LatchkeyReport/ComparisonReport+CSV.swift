internal import Foundation
package import LatchkeyComparison

extension ComparisonReport {
    /// The report as CSV (RFC 4180, with a header): a line for each repeat of each case and
    /// baseline.
    ///
    /// What was not measured is empty.
    package func csv() -> [UInt8] {
        var lines = [Self.columns.map(\.name).joined(separator: ",")]
        for entry in baselines + cases {
            for measured in entry.repeats {
                let fields = Self.columns.map { Self.field($0.value(entry, measured)) }
                lines.append(fields.joined(separator: ","))
            }
        }
        return Array(lines.map { $0 + "\r\n" }.joined().utf8)
    }

    private struct Column {
        var name: String
        var value: (Case, Repeat) -> String?

        init(_ name: String, _ value: @escaping (Case, Repeat) -> (some CustomStringConvertible)?) {
            self.name = name
            self.value = { value($0, $1)?.description }
        }
    }

    private static var columns: [Column] {
        caseColumns + repeatColumns
            + durationColumns("wait", \.wait) + durationColumns("hold", \.hold)
            + durationColumns("response", \.response)
            + durationColumns("responseFromIntendedStart", \.responseFromIntendedStart)
    }

    private static var caseColumns: [Column] {
        [
            Column("strategy") { entry, _ in entry.strategy },
            Column("threads") { entry, _ in entry.threads },
            Column("readRatio") { entry, _ in entry.workload.readRatio },
            Column("sectionNanoseconds") { entry, _ in entry.workload.sectionNanoseconds },
            Column("outside") { entry, _ in entry.workload.outside },
            Column("keys") { entry, _ in entry.workload.keys },
            Column("skew") { entry, _ in entry.workload.skew },
            Column("stripes") { entry, _ in entry.workload.stripes },
            Column("arrival") { entry, _ in entry.workload.arrival },
            Column("threadMode") { entry, _ in entry.workload.threadMode?.rawValue },
        ]
    }

    private static var repeatColumns: [Column] {
        [
            Column("repeat") { _, measured in measured.index },
            Column("operations") { _, measured in measured.operations },
            Column("seconds") { _, measured in measured.seconds },
            Column("operationsPerSecond") { _, measured in measured.operationsPerSecond },
            Column("operationsPerThread") { _, measured in
                measured.operationsPerThread.map(String.init).joined(separator: " ")
            },
            Column("meteredOperations") { _, measured in measured.meteredOperations },
            Column("contended") { _, measured in measured.contended },
            Column("handOffs") { _, measured in measured.handOffs },
            Column("cpuSeconds") { _, measured in measured.cpuSeconds },
            Column("voluntarySwitches") { _, measured in measured.voluntarySwitches },
            Column("involuntarySwitches") { _, measured in measured.involuntarySwitches },
            Column("minorFaults") { _, measured in measured.minorFaults },
            Column("majorFaults") { _, measured in measured.majorFaults },
            Column("futexCalls") { _, measured in measured.futexCalls },
            Column("systemCalls") { _, measured in measured.systemCalls },
            Column("refused") { _, measured in measured.refused },
        ]
    }

    private static func durationColumns(
        _ name: String,
        _ durations: @escaping @Sendable (Repeat) -> Durations?
    ) -> [Column] {
        [
            Column(name + "TimedCount") { _, measured in durations(measured)?.timedCount },
            Column(name + "MeanNanoseconds") { durations($1)?.meanNanoseconds },
            Column(name + "P50Nanoseconds") { durations($1)?.p50Nanoseconds },
            Column(name + "P90Nanoseconds") { durations($1)?.p90Nanoseconds },
            Column(name + "P99Nanoseconds") { durations($1)?.p99Nanoseconds },
            Column(name + "P999Nanoseconds") { durations($1)?.p999Nanoseconds },
            Column(name + "MaxNanoseconds") { durations($1)?.maxNanoseconds },
        ]
    }

    /// Quotes a field that needs it.
    private static func field(_ text: String?) -> String {
        guard let text else { return "" }
        guard text.contains(where: { "\",\r\n\r\n".contains($0) }) else { return text }
        return "\"" + text.replacing("\"", with: "\"\"") + "\""
    }
}
