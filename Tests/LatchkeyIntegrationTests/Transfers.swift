import Foundation
import LatchkeyTestSupport
import Testing

/// A way to serve that exports and imports are tried in.
struct TransferVariant: CustomTestStringConvertible, Sendable {
    let flags: [String]

    var testDescription: String { flags.joined(separator: " ") }

    static let all = [
        "lock", "snapshot", "actor", "barrier-queue-async", "serial-queue",
    ].map { Self(flags: ["--strategy", $0]) }
}

/// One line of an export.
struct ExportedLine: Equatable {
    let name: String
    /// As it was sent.
    let value: String
    let revision: Int
    let created: Int
    let ttl: Double?

    /// Reads the members in the order in which they are written.
    ///
    /// Without a regular expression, which took two thirds of the time of the tests of exports.
    init?(_ line: Substring) {
        let text = String(line)
        guard text.hasPrefix(#"{"name":""#), text.hasSuffix("}"),
            let first = text.range(of: #"","value":"#),
            let second = text.range(of: #","revision":"#, options: .backwards),
            let third = text.range(of: #","created":"#, options: .backwards),
            first.upperBound <= second.lowerBound, second.upperBound <= third.lowerBound
        else { return nil }
        let last = text[third.upperBound...].dropLast().components(separatedBy: #","ttl":"#)
        guard let revision = Int(text[second.upperBound..<third.lowerBound]),
            let created = Int(last[0]), last.count <= 2
        else { return nil }
        ttl = last.dropFirst().first.flatMap { Double($0) }
        guard last.count == 1 || ttl != nil else { return nil }
        name = String(text[..<first.lowerBound].dropFirst(9)).replacing("\\\"", with: "\"")
            .replacing("\\\\", with: "\\")
        value = String(text[first.upperBound..<second.lowerBound])
        self.revision = revision
        self.created = created
    }
}

/// An export that was read to its end.
struct ExportedState: Equatable {
    let revision: Int
    let lines: [ExportedLine]

    /// Names and values.
    var values: [String: String] {
        Dictionary(lines.map { ($0.name, $0.value) }) { $1 }
    }

    init(_ answer: HTTPAnswer) throws {
        #expect(answer.status == 200)
        #expect(answer.headers["content-type"] == "application/x-ndjson")
        revision = try #require(answer.headers["latchkey-revision"].flatMap { Int($0) })
        #expect(answer.body.last == 0x0A)
        var texts = answer.text.split(separator: "\n")
        let last = texts.popLast() ?? ""
        #expect(last == #"{"end":true,"count":\#(texts.count),"revision":\#(revision)}"#)
        lines = texts.compactMap { ExportedLine($0) }
        #expect(lines.count == texts.count)
        let names = lines.map { Array($0.name.utf8) }
        #expect(zip(names, names.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) })
    }
}

extension Site {
    func exported(_ query: String = "") throws -> ExportedState {
        try ExportedState(ask("GET", "/v1/export\(query)"))
    }

    /// Imports lines made by hand, and returns how many were imported and the revision.
    @discardableResult
    func imported(
        _ lines: String,
        query: String = "?partial=true"
    ) throws -> (count: Int, revision: Int) {
        let answer = try ask("POST", "/v1/import\(query)", lines)
        #expect(answer.status == 200, "\(answer.text)")
        let object = try #require(answer.json as? [String: Int])
        return (try #require(object["imported"]), try #require(object["revision"]))
    }

    /// Waits until a line of the metrics has this value.
    func await(_ metric: String, _ value: String) throws {
        try eventually("\(metric) is \(value)") {
            try ask("GET", "/metrics").text.contains("\n\(metric) \(value)\n")
        }
    }
}

/// Lines of many properties.
func manyLines(_ numbers: Range<Int>, value: (Int) -> String) -> String {
    numbers.map { "{\"name\":\"k\(100_000 + $0)\",\"value\":\(value($0))}\n" }.joined()
}
