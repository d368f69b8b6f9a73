import Foundation
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyComparison
@testable import LatchkeyReport
@testable import LatchkeyVerdict

/// Recorded runs, and the same ones with their repeats drawn again.
///
/// Three are of one machine within an hour, without rounds, and once named three strategies. Two
/// ran beside 0.3 busy processors, and an earlier verdict with a limit on noise said "Too noisy to
/// tell" of them. One is a quiet run of that machine.
@Suite(.timeLimit(.minutes(15)))
struct RecordedVerdictTests {
    static let withoutRounds = ["use-actor", "use-semaphore", "use-snapshot"]
    static let withRounds = ["beside-load-1", "beside-load-2", "quiet-adaptive"]

    static func report(_ name: String) throws -> ComparisonReport {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        var report = try ComparisonReport(file: folder.path + "/Recorded/\(name).json")
        report.conclude(isForced: false)
        return report
    }

    @Test(
        arguments: zip(
            withRounds + withoutRounds,
            [
                "Use `adaptive`: 38 % more than `lock` on average over 2 to 8 threads; 27 % on 4.",
                "Use `adaptive`: 48 % more than `lock` on average over 2 to 8 threads.",
                "Use `adaptive`: 53 % more than `lock` on average over 2 to 8 threads.",
                "Keep `lock`: `spin` does 12 % more on average, but not surely 10 %.",
                "Keep `lock`: no other is surely better by 10 % on average.",
                "Keep `lock`: `spin` does 27 % more on average, but not surely 10 %.",
            ]
        )
    )
    func `each run has its sentence, beside load too`(name: String, sentence: String) throws {
        let found = try #require(Self.report(name).recommendation)
        #expect(found.sentence == sentence, "\(found.lines)")
    }

    @Test func `the verdict does not repeat the missing claim of an earlier rule`()
        throws
    {
        let report = try Self.report("beside-load-1")
        let text = report.terminal(width: 180)
        #expect(text.contains("Other processes kept 0.36 processors busy"))
        #expect(!text.contains("is claimed"))
    }

    @Test func `a quiet run has three lines, and the page has the same`() throws {
        let report = try Self.report("quiet-adaptive")
        let lines = try #require(report.recommendation).lines
        #expect(
            lines == [
                "Use `adaptive`: 53 % more than `lock` on average over 2 to 8 threads.",
                "No other is surely better by 10 % in any of the 4 cases.",
                "Not here: `mutex` collapses above 4 threads: 72.9 times slower; `serial-queue` "
                    + "collapses above 1 thread: 67.6 times slower; `barrier-queue` collapses "
                    + "above 1 thread: 46.9 times slower; and 6 more.",
            ]
        )
        let all = lines + (report.recommendation?.rest ?? [])
        let forms = [
            report.terminal(width: 180),
            String(decoding: try ReportPage(report).html(), as: UTF8.self),
            String(decoding: try report.json(), as: UTF8.self),
        ].map { $0.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
        for text in all { #expect(forms.allSatisfy { $0.contains(text) }, "\(text)") }
        for line in lines { #expect(MarkdownReport(report).text.contains(line)) }
    }

    @Test(arguments: withRounds + withoutRounds)
    func `whichever strategy is current, the verdict is not beaten by its table`(
        name: String
    ) throws {
        var report = try Self.report(name)
        for current in report.settings.strategies {
            report.settings.currentStrategy = current
            report.conclude(isForced: false)
            let found = try #require(report.recommendation)
            #expect(found.sentence.wordCount <= 20, "\(found.sentence)")
            let named = try #require(found.strategies.first)
            let told = found.rest.joined(separator: " ")
            for other in found.ratios ?? [] where other.low >= 1.1 {
                // A strategy that is surely better and not named stands in the list, with the
                // reason.
                #expect(
                    named != current.rawValue
                        || told.contains("`\(other.strategy)` is passed over"),
                    "\(other): \(found)"
                )
            }
            for other in found.strategies.dropFirst() {
                #expect(
                    !(found.news + found.notes.filter { $0.hasPrefix("Not to be") })
                        .contains { $0.contains("`\(other)` ") || $0.contains("`\(other)`,") },
                    "\(other): \(found)"
                )
            }
        }
    }

    // MARK: Repeats drawn again

    private enum Drawing: CaseIterable {
        /// Whole rounds: what was measured together stays together.
        case rounds
        /// Each case by itself.
        case cases
    }

    /// Another possible run, drawn from the repeats.
    private func drawn(
        _ report: ComparisonReport,
        _ drawing: Drawing,
        _ random: inout SeededRandom
    ) -> ComparisonReport {
        var report = report
        let count = report.settings.repeats
        let perRepeat = ComparisonReport.Rounds.perRepeat
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
            var summary = ComparisonReport.Summary(repeats)
            // Not in the recording for each repeat.
            summary.wait = old.wait
            summary.cpuSecondsPerMillionOperations = old.cpuSecondsPerMillionOperations
            summary.operationsPerSecond = old.operationsPerSecond
            (report.cases[index].repeats, report.cases[index].summary) = (repeats, summary)
            guard let slices = report.cases[index].rounds?.operationsPerSecond else { continue }
            report.cases[index].rounds?.operationsPerSecond = places.flatMap { source in
                slices[(source * perRepeat)..<((source + 1) * perRepeat)]
            }
        }
        return report.concluded()
    }

    @Test(
        arguments: zip(
            withRounds + withoutRounds,
            ["adaptive", "adaptive", "adaptive", "spin", "lock", "spin"]
        )
    )
    func `drawn again, nine of ten runs name the same strategy or keep the current one`(
        name: String,
        named: String
    ) throws {
        let report = try Self.report(name)
        let count = Depth.count(3, deep: 20)
        for drawing in [Drawing.rounds, .cases] {
            var random = SeededRandom(seed: 7)
            var counts: [String: Int] = [:]
            for _ in 0..<count {
                let found = try #require(drawn(report, drawing, &random).recommendation)
                let isKept = found.strategies.first == found.current
                counts[isKept ? "" : found.strategies[0], default: 0] += 1
            }
            let others = counts.filter { !["", named].contains($0.key) }.values.reduce(0, +)
            #expect(10 * others <= count, "\(drawing): \(counts)")
        }
    }
}
