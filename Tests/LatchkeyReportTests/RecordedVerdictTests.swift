import Foundation
import LatchkeyStrategies
import Testing

@testable import LatchkeyComparison
@testable import LatchkeyReport

/// Three runs of one machine within an hour, which once named three strategies; and the same runs
/// with their repeats drawn again.
@Suite(.timeLimit(.minutes(3)))
struct RecordedVerdictTests {
    static let names = ["use-actor", "use-semaphore", "use-snapshot"]

    static func report(_ name: String) throws -> ComparisonReport {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        var report = try ComparisonReport(file: folder.path + "/Recorded/\(name).json")
        report.conclude(isForced: false)
        return report
    }

    @Test(arguments: zip(names, ["lock", "lock", "adaptive"]))
    func `no report names another one than lock or adaptive`(name: String, named: String) throws {
        let found = try #require(Self.report(name).recommendation)
        #expect(found.strategies.first == named, "\(found.lines)")
        if named == "lock" { #expect(found.sentence == "No difference found: keep `lock`.") }
    }

    @Test func `a quiet run has three lines`() throws {
        let found = try #require(Self.report("use-snapshot").recommendation)
        #expect(
            found.lines == [
                "Use `adaptive`: 25 % more than `lock` from 2 threads on.",
                "No other fit strategy was found better by 10 % in any of the 4 cases.",
                "Not here: `mutex` collapses above 4 threads: 217 times slower; `ticket` collapses "
                    + "above 2 threads: 18.6 times slower; `serial-queue` collapses above 1 "
                    + "thread: 11.9 times slower; and 5 more.",
            ]
        )
    }

    @Test(arguments: names)
    func `the same text stands in the terminal, in Markdown, on the page and in JSON`(
        name: String
    ) throws {
        let report = try Self.report(name)
        let lines = try #require(report.recommendation?.lines)
        #expect(lines.count >= 2)
        let terminal = TerminalReport(report, style: TerminalStyle(width: 180, usesColor: false))
        let page = try String(decoding: ReportPage(report).html(), as: UTF8.self)
        let json = try String(decoding: report.json(), as: UTF8.self)
        func words(_ text: String) -> String {
            text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
                .replacing("\\u003c", with: "<")
        }
        for line in lines {
            #expect(words(terminal.text).contains(line))
            #expect(MarkdownReport(report).text.contains(line))
            #expect(words(page).contains(line))
            #expect(json.contains(line))
        }
    }

    // MARK: Repeats drawn again

    private enum Drawing: CaseIterable {
        /// Whole rounds: what was measured together stays together.
        case rounds
        /// Each case by itself.
        case cases
    }

    /// What the run could have been, as far as its repeats tell.
    private func drawn(
        _ report: ComparisonReport,
        _ drawing: Drawing,
        _ random: inout SplitMix
    ) -> ComparisonReport {
        var report = report
        let count = report.settings.repeats
        func draw() -> [Int] { (0..<count).map { _ in Int.random(in: 0..<count, using: &random) } }
        let rounds = draw()
        for index in report.cases.indices {
            let own = report.cases[index].repeats.sorted { $0.index < $1.index }
            let places = drawing == .rounds ? rounds : draw()
            let repeats = places.enumerated().map { place, source in
                var measured = own[min(source, own.count - 1)]
                measured.index = place
                return measured
            }
            let old = report.cases[index].summary
            var summary = ComparisonReport.Summary(repeats, seed: 1)
            // Not in the recording for each repeat.
            summary.wait = old.wait
            summary.cpuSecondsPerMillionOperations = old.cpuSecondsPerMillionOperations
            (report.cases[index].repeats, report.cases[index].summary) = (repeats, summary)
        }
        return report.concluded()
    }

    @Test(arguments: names)
    func `drawn again, a run names the same strategy or finds no difference`(
        name: String
    ) throws {
        let report = try Self.report(name)
        for drawing in [Drawing.rounds, .cases] {
            var random = SplitMix(state: 7)
            var counts: [String: Int] = [:]
            for _ in 0..<20 {
                let found = try #require(drawn(report, drawing, &random).recommendation)
                let isKept = found.strategies.first == found.current
                counts[isKept ? "" : found.strategies[0], default: 0] += 1
            }
            let others = counts.filter { $0.key != "" }.values
            let different = others.reduce(0, +) - (others.max() ?? 0)
            #expect(different <= 2, "\(drawing): \(counts)")
        }
    }
}
