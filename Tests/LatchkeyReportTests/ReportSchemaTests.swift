import Foundation
import LatchkeyStrategies
import Testing

@testable import LatchkeyComparison
@testable import LatchkeyReport

/// The documented schema and the reports that are written, against each other.
struct ReportSchemaTests {
    private let schema: SchemaChecker

    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    init() throws {
        let file = Self.root.appending(path: "docs/schemas/comparison-report.schema.json")
        schema = SchemaChecker(try JSONSerialization.jsonObject(with: Data(contentsOf: file)))
    }

    private func problems(_ report: ComparisonReport) throws -> [String] {
        schema.problems(try JSONSerialization.jsonObject(with: Data(report.json())))
    }

    /// A report in which everything optional is there.
    private var full: ComparisonReport {
        let wire = SampleReport.workload(transport: .http)
        var report = SampleReport(
            strategies: [.lock, .spin],
            threads: [1, 2],
            workloads: [SampleReport.workload(), wire]
        ).make()
        report.settings.preset = .cache
        report.settings.skews = [.uniform, .zipf(exponent: 0.99)]
        report.settings.arrival = .open(operationsPerSecond: 1e5)
        report.fingerprint.hypervisor = "yes"
        report.fingerprint.processorQuota = 1.5
        report.instrument.systemCallsMissingBecause = "It is not allowed."
        report.verdicts[0].finding = "Nothing."
        report.cases[0].summary.isBistable = true
        report.cases[0].summary.modesOperationsPerSecond = [1, 2]
        report.cases[0].summary.response = .sample(p50: 1)
        report.cases[0].repeats[0].futexCalls = 1
        report.cases[0].repeats[0].refused = 1
        report.cases[0].repeats[0].lineNanoseconds = [60, 240]
        report.cases[0].repeats[0].isLeftOut = true
        report.fingerprint.cacheLine = ComparisonReport.CacheLine(
            averageNanoseconds: 60,
            missingBecause: "Nothing is missing."
        )
        report.cases[0].repeats[0].responseFromIntendedStart = .sample(p50: 1)
        report.cases[0].repeats[0].startDelay = .sample(p50: 1)
        report.cases[0].summary.startDelay = .sample(p50: 1)
        report.cases[1].workload.arrival = .recorded(operationsPerSecond: 100)
        report.settings.trace = TraceSource(
            file: "a.trace",
            speed: 16,
            sampleInterval: 16,
            operations: 100,
            seconds: 1.5,
            isCutOff: true
        )
        report.crossovers = [.sample(0.4, "lock", "spin")]
        (report.crossovers[0].axis, report.crossovers[0].threads) = (.readRatio, 2)
        report.cliffs = [
            ComparisonReport.Cliff(
                strategy: "mutex",
                workload: wire,
                threads: (4, 8),
                operationsPerSecond: (6.5e6, 39e3)
            )
        ]
        report.cases[0].summary.slowRepeatOperationsPerSecond = 1
        report.conditions.disturbances = ["Other processes ran."]
        report.recommendation = report.verdict
        report.recommendation?.news = ["News."]
        report.settings.current = .spin
        report.ownStrategies = [.init("own", StrategyTraits(spins: true))]
        report.recommendation?.passedOver = [
            ComparisonReport.PassedOver(strategy: "spin", reason: "Jain")
        ]
        return report
    }

    @Test func `reports are as documented`() throws {
        #expect(try problems(full) == [])
        #expect(try problems(SampleReport().make()) == [])
        #expect(try problems(ComparisonReport.empty) == [])
    }

    @Test func `the recorded run of the documents is of this schema`() throws {
        let file = Self.root.appending(path: "docs/figures/compare.json")
        #expect(
            schema.problems(try JSONSerialization.jsonObject(with: Data(contentsOf: file))) == []
        )
    }

    @Test func `members against the schema would be noticed`() throws {
        var report = full
        report.schema = "another"
        report.cases[0].threads = 0
        report.cases[1].workload.readRatio = 2
        report.crossovers[0].fasterAbove = "hope"
        #expect(try problems(report).count == 4)
    }
}

/// As much of JSON Schema as the report's uses.
private struct SchemaChecker {
    private let root: [String: Any]

    init(_ root: Any) {
        self.root = root as? [String: Any] ?? [:]
    }

    func problems(_ value: Any) -> [String] {
        problems(value, root, "$")
    }

    private func problems(_ value: Any, _ schema: [String: Any], _ place: String) -> [String] {
        var found: [String] = []
        if let name = schema["$ref"] as? String {
            let definitions = root["$defs"] as? [String: Any] ?? [:]
            let definition = definitions[String(name.dropFirst("#/$defs/".count))]
            found += problems(value, definition as? [String: Any] ?? ["type": "missing"], place)
        }
        if let constant = schema["const"] as? String, value as? String != constant {
            found.append("\(place) is not \(constant)")
        }
        if let names = schema["enum"] as? [String], !names.contains(value as? String ?? "") {
            found.append("\(place) is none of \(names)")
        }
        if let type = schema["type"] as? String {
            found += typeProblems(value, type, schema, place)
        }
        return found
    }

    private func typeProblems(
        _ value: Any,
        _ type: String,
        _ schema: [String: Any],
        _ place: String
    ) -> [String] {
        switch type {
        case "object":
            return objectProblems(value as? [String: Any], schema, place)
        case "array":
            guard let items = value as? [Any] else { return ["\(place) is no array"] }
            let element = schema["items"] as? [String: Any] ?? [:]
            return items.enumerated().flatMap { problems($1, element, "\(place)[\($0)]") }
        case "string":
            guard let text = value as? String else { return ["\(place) is no string"] }
            guard let pattern = schema["pattern"] as? String,
                text.range(of: pattern, options: .regularExpression) == nil
            else { return [] }
            return ["\(place) does not match \(pattern)"]
        case "boolean":
            return value is Bool ? [] : ["\(place) is no boolean"]
        case "number", "integer":
            guard let number = (value as? NSNumber)?.doubleValue else {
                return ["\(place) is no number"]
            }
            let least = (schema["minimum"] as? NSNumber)?.doubleValue ?? -.infinity
            let most = (schema["maximum"] as? NSNumber)?.doubleValue ?? .infinity
            let isWhole = type == "number" || number == number.rounded()
            return number >= least && number <= most && isWhole
                ? [] : ["\(place) is out of bounds: \(number)"]
        default:
            return ["\(place) has a schema of type \(type)"]
        }
    }

    private func objectProblems(
        _ value: [String: Any]?,
        _ schema: [String: Any],
        _ place: String
    ) -> [String] {
        guard let value else { return ["\(place) is no object"] }
        let properties = schema["properties"] as? [String: Any] ?? [:]
        let required = schema["required"] as? [String] ?? []
        var found = required.filter { value[$0] == nil }.map { "\(place).\($0) is missing" }
        for (name, value) in value {
            guard let property = properties[name] as? [String: Any] else {
                found.append("\(place).\(name) is not documented")
                continue
            }
            found += problems(value, property, "\(place).\(name)")
        }
        return found
    }
}
