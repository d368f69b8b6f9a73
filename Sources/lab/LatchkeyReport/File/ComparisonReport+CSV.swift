internal import Foundation
package import LatchkeyComparison

extension ComparisonReport {
    /// The report as CSV (RFC 4180, with a header): a line for each repeat of each case and
    /// baseline.
    ///
    /// A figure that was not measured is empty.
    package func csv() -> [UInt8] {
        let columns = Self.columns
        let lines = (baselines + cases).flatMap { entry in
            entry.repeats.map { measured in
                let fields = Self.fields(entry, measured)
                return columns.map { Self.quoted(fields[$0] ?? "") }
            }
        }
        let text = ([columns] + lines).map { $0.joined(separator: ",") + "\r\n" }.joined()
        return Array(text.utf8)
    }

    /// The names in the JSON, with those of durations put together.
    private static var columns: [String] {
        let plain = """
            strategy threads workload readRatio sectionNanoseconds outside keys skew stripes \
            arrival repeat operations seconds operationsPerSecond operationsPerThread \
            meteredOperations contended handOffs cpuSeconds voluntarySwitches involuntarySwitches \
            minorFaults majorFaults futexCalls systemCalls refused \
            lineNanoseconds isLeftOut
            """
        let durations = """
            TimedCount MeanNanoseconds P50Nanoseconds P90Nanoseconds P99Nanoseconds \
            P999Nanoseconds MaxNanoseconds
            """.split(separator: " ")
        let names = ["wait", "hold", "response", "responseFromIntendedStart", "startDelay"]
        return plain.split(separator: " ").map(String.init)
            + names.flatMap { name in durations.map { name + $0 } }
    }

    private static func fields(_ entry: Case, _ measured: Repeat) -> [String: String] {
        var fields: [String: String] = [:]
        func add(_ value: Any, prefix: String = "") {
            for case (let label?, let field) in Mirror(reflecting: value).children {
                let name =
                    prefix.isEmpty
                    ? label : prefix + label.prefix(1).uppercased() + label.dropFirst()
                switch field {
                case let durations as Durations: add(durations, prefix: name)
                case let spelled as any RawRepresentable<String>: fields[name] = spelled.rawValue
                case let value as any CustomStringConvertible: fields[name] = value.description
                default: break
                }
            }
        }
        add(entry.workload)
        add(measured)
        fields["strategy"] = entry.strategy
        fields["threads"] = "\(entry.threads)"
        fields["workload"] = entry.workload.name
        fields["repeat"] = "\(measured.index)"
        fields["operationsPerSecond"] = "\(measured.operationsPerSecond)"
        fields["operationsPerThread"] =
            measured.operationsPerThread.map(String.init).joined(separator: " ")
        fields["lineNanoseconds"] =
            measured.lineNanoseconds?.map { "\($0)" }.joined(separator: " ")
        return fields
    }

    /// Quotes a field that needs it.
    private static func quoted(_ text: String) -> String {
        guard text.contains(where: { "\",\r\n\r\n".contains($0) }) else { return text }
        return "\"" + text.replacing("\"", with: "\"\"") + "\""
    }
}
