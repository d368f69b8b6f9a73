import Foundation
import LatchkeyStrategies
import Testing

@testable import LatchkeyComparison
@testable import LatchkeyReport

/// How reports show the distance of the processors.
struct CacheLineReportTests {
    private static func line(_ average: Double) -> ComparisonReport.CacheLine {
        ComparisonReport.CacheLine(averageNanoseconds: average)
    }

    private static func report(
        _ average: Double?,
        threads: [Int] = [1, 2],
        seed: UInt64 = 1
    )
        -> ComparisonReport
    {
        var report = SampleReport(threads: threads, seed: seed).make()
        report.fingerprint.cacheLine = average.map { line($0) }
        return report
    }

    // MARK: --against

    @Test func `reports of different modes are compared on one thread only`() throws {
        let difference = try ReportDifference(
            from: Self.report(60),
            against: Self.report(240, seed: 2)
        )
        #expect(!difference.rows.isEmpty && difference.rows.allSatisfy(\.isOneThread))
        #expect(
            difference.notes.contains(
                "The processors were farther apart after than before: a cache line took 60 ns "
                    + "there and back before and 240 ns after, on average. What several threads "
                    + "do follows that, so only cases of one thread are compared. --force "
                    + "compares everything."
            )
        )
        let forced = try ReportDifference(
            from: Self.report(60),
            against: Self.report(240, seed: 2),
            isForced: true
        )
        #expect(forced.rows.contains { !$0.isOneThread })
    }

    @Test func `a far mode is not taken for something worse`() throws {
        var far = SampleReport(threads: [1, 2], seed: 2)
        far.speed = { _, threads in threads == 1 ? 1 : 0.5 }
        var after = far.make()
        after.fingerprint.cacheLine = Self.line(240)
        let difference = try ReportDifference(from: Self.report(60), against: after)
        let isWorse = difference.isWorse
        #expect(!isWorse)
        // Without the probe it would be.
        after.fingerprint.cacheLine = nil
        let blind = try ReportDifference(from: Self.report(60), against: after)
        let isBlindWorse = blind.isWorse
        #expect(isBlindWorse)
    }

    @Test(arguments: [(100.0, 149.9, true), (100, 150, false), (150, 100, false), (nil, 900, true)])
    func `modes differ from a factor of one and a half on`(
        before: Double?,
        after: Double,
        isComparable: Bool
    ) throws {
        let difference = try ReportDifference(
            from: Self.report(before),
            against: Self.report(after, seed: 2)
        )
        #expect(difference.rows.contains { !$0.isOneThread } == isComparable)
    }

    @Test func `without a case of one thread, reports of different modes have nothing in common`() {
        #expect(throws: ReportFileError.self) {
            try ReportDifference(
                from: Self.report(60, threads: [2, 4]),
                against: Self.report(240, threads: [2, 4])
            )
        }
    }

    // MARK: Left out

    @Test func `a repeat that is left out decides nothing`() throws {
        var report = ComparisonReport.plain([
            .lock: [2: [100, 101, 102, 900]], .spin: [2: [200, 201, 202, 203]],
        ])
        #expect(report.verdict.strategies.first == "lock")
        report.cases[0].repeats[3].isLeftOut = true
        #expect(report.verdict.strategies.first == "spin")
        // Fewer repeats count than can be ranked.
        report.cases[0].repeats[2].isLeftOut = true
        report.conclude(isForced: false)
        #expect(report.conditions.ranking == .refused)
    }

    // MARK: In words

    @Test func `the terminal, Markdown and the page say how far apart the processors were`() throws
    {
        var report = Self.report(60)
        report.conclude(isForced: false)
        func terminal() -> String { report.terminal(width: 180) }
        #expect(
            terminal().contains(
                "A cache line took 60 ns from one processor to another and back, on average."
            )
        )
        #expect(MarkdownReport(report).text.contains("cache line 60 ns"))
        let page = String(decoding: try ReportPage(report).html(), as: UTF8.self)
        #expect(page.contains("\"cacheLineFact\":\"cache line 60 ns\""))
        let own = try #require(report.cases.firstIndex { $0.threads == 2 })
        report.cases[own].repeats[0].isLeftOut = true
        #expect(report.cacheLineText.hasSuffix(" 1 repeat in which it jumped is left out."))
        report.cases[own].repeats[1].isLeftOut = true
        #expect(report.cacheLineText.hasSuffix(" 2 repeats in which it jumped are left out."))
        report.fingerprint.cacheLine = .init(missingBecause: "No pair.")
        #expect(terminal().contains("a cache line between processors was not measured. No pair."))
        report.fingerprint.cacheLine = nil
        #expect(!terminal().contains("cache line"))
    }

    @Test func `of a report of 0.1, the rounds in which the distance changed are left out`() throws
    {
        let text = """
            {"operationsPerSecond":[1,2,3,4],"processors":["near","changed","far","changed"]}
            """
        let rounds = try JSONDecoder().decode(
            ComparisonReport.Rounds.self,
            from: Data(text.utf8)
        )
        #expect(rounds.counted == [1, 3])
        let written = try JSONEncoder().encode(rounds)
        #expect(try JSONDecoder().decode(ComparisonReport.Rounds.self, from: written) == rounds)
        #expect(!String(decoding: written, as: UTF8.self).contains("processors"))
    }
}
