import Foundation
import LatchkeyStrategies
import Testing

@testable import LatchkeyComparison
@testable import LatchkeyReport

/// What reports say of the distance of the processors.
struct CacheLineReportTests {
    private static func line(
        _ average: Double,
        _ modes: [(Double, Double)] = []
    )
        -> ComparisonReport.CacheLine
    {
        ComparisonReport.CacheLine(
            pairs: [.init(first: 0, second: 1, roundTripNanoseconds: average)],
            modes: (modes.isEmpty ? [(average, 1)] : modes).map {
                .init(roundTripNanoseconds: $0.0, share: $0.1)
            },
            averageNanoseconds: average
        )
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

    // MARK: Within repeats

    /// Repeats of one speed near and of another one far apart, in this order of modes.
    private static func entry(
        _ name: String,
        _ speeds: [ComparisonReport.ProcessorDistance: Double],
        _ order: [ComparisonReport.ProcessorDistance]
    ) -> ComparisonReport.Case {
        let rates = order.enumerated().map { index, mode in
            (speeds[mode] ?? 1) * (1 + 0.002 * Double(index % 3))
        }
        var entry = ComparisonReport.Case.plain(name, 2, rates, SampleReport.workload())
        for (index, mode) in order.enumerated() { entry.repeats[index].processors = mode }
        return entry
    }

    @Test func `ratios are taken where the processors were as far apart`() throws {
        let rates: [ComparisonReport.ProcessorDistance: Double] = [.near: 6e6, .far: 3e6]
        let faster = rates.mapValues { 1.2 * $0 }
        let one = Self.entry("spin", faster, [.near, .far, .near, .far, .near, .far])
        let other = Self.entry("lock", rates, [.near, .far, .near, .far, .far, .near])
        let pairs = RankedFigure.throughput.pairedSpeeds(one, other)
        #expect(pairs.count == 4)
        #expect(pairs.allSatisfy { abs($0 / $1 - 1.2) < 0.01 })
        let ratio = try #require(SpeedRatio(one, other))
        #expect(ratio.low > 1.15 && ratio.high < 1.25, "\(ratio)")
        let inverse = try #require(SpeedRatio(other, one))
        #expect(abs(inverse.low * ratio.high - 1) < 1e-9)
    }

    @Test func `if too few repeats are alike, all are compared`() {
        let rates: [ComparisonReport.ProcessorDistance: Double] = [.near: 6e6, .far: 3e6]
        let one = Self.entry("spin", rates, [.near, .near, .near, .near, .near])
        let other = Self.entry("lock", rates, [.near, .near, .far, .far, .far])
        #expect(RankedFigure.throughput.pairedSpeeds(one, other).count == 5)
    }

    @Test func `a repeat that is left out decides nothing`() throws {
        var report = ComparisonReport.plain([
            .lock: [2: [100, 101, 102, 900]], .spin: [2: [100, 101, 102, 103]],
        ])
        report.cases[0].repeats[3].isLeftOut = true
        let figure = RankedFigure.throughput
        #expect(figure.pairedSpeeds(report.cases[0], report.cases[1]).count == 3)
        #expect(figure.slowRepeat(report.cases[0]) == nil)
        // Fewer repeats count than can be ranked.
        report.cases[0].repeats[2].isLeftOut = true
        report.conclude(isForced: false)
        #expect(report.conditions.ranking == .refused)
    }

    // MARK: Both modes

    /// A strategy that is this much faster in each mode, in a report of both modes.
    private static func bothModes(
        near: Double,
        far: Double,
        _ order: [ComparisonReport.ProcessorDistance]
    ) -> ComparisonReport {
        var report = ComparisonReport.plain([.lock: [2: [1]], .spin: [2: [1]]])
        report.cases = [
            entry("lock", [.near: 6e6, .far: 3e6], order),
            entry("spin", [.near: 6e6 * near, .far: 3e6 * far], order),
        ]
        report.conclude(isForced: false)
        return report
    }

    private static func modeGains(
        _ report: ComparisonReport,
        _ name: String,
        _ other: String
    ) -> ModeGains? {
        ModeGains(Headline(report, Ranking(report)), name, other)
    }

    @Test func `where both modes came, the verdict says both`() throws {
        let order =
            [ComparisonReport.ProcessorDistance](repeating: .near, count: 5)
            + [ComparisonReport.ProcessorDistance](repeating: .far, count: 5)
        let report = Self.bothModes(near: 1.5, far: 1.3, order)
        let modes = try #require(Self.modeGains(report, "spin", "lock"))
        #expect(abs(modes.near / 1.5 - 1) < 1e-9 && abs(modes.far / 1.3 - 1) < 1e-9)
        #expect(
            modes.sentence(.throughput, over: "lock")
                == "On several threads: 50 % more than `lock` with processors near each other, "
                + "30 % more than `lock` with processors far apart."
        )
        #expect(report.recommendation?.strategies.first == "spin")
        #expect(
            report.recommendation?.notes.contains { $0.hasPrefix("On several threads: 50 %") }
                == true
        )
        let worse = try #require(
            Self.modeGains(Self.bothModes(near: 1.5, far: 0.8, order), "spin", "lock")
        )
        #expect(
            worse.sentence(.throughput, over: "lock").hasSuffix(
                "20 % slower than `lock` with processors far apart."
            )
        )
        // A mode that came four times is not told of, nor is a strategy beside itself.
        #expect(
            Self.modeGains(
                Self.bothModes(near: 2, far: 2, Array(order.dropLast())),
                "spin",
                "lock"
            ) == nil
        )
        #expect(Self.modeGains(report, "lock", "lock") == nil)
    }

    // MARK: In words

    @Test func `the terminal, Markdown and the page say how far apart the processors were`() throws
    {
        var report = Self.report(60)
        report.conclude(isForced: false)
        func terminal() -> String { report.terminal(width: 180) }
        #expect(
            terminal().contains("A cache line takes 60 ns from one processor to another and back.")
        )
        #expect(MarkdownReport(report).text.contains("cache line 60 ns"))
        let page = String(decoding: try ReportPage(report).html(), as: UTF8.self)
        #expect(page.contains("\"cacheLineFact\":\"cache line 60 ns\""))
        report.fingerprint.cacheLine = Self.line(120, [(57, 0.64), (392, 0.36)])
        let own = try #require(report.cases.firstIndex { $0.threads == 2 })
        report.cases[own].repeats[0].processors = .changed
        report.cases[own].repeats[0].isLeftOut = true
        report.cases[own].repeats[1].processors = .changed
        #expect(
            report.cacheLineText
                == "The processors were near each other (a cache line takes 57 ns there and back) "
                + "in 64 % of the readings, and far apart (392 ns) in 36 %. 1 repeat on several "
                + "threads, in which that changed, is left out. 1 repeat in which it changed "
                + "counts, since too few others would be left."
        )
        #expect(report.machine.hasSuffix("cache line 57 ns or 392 ns"))
        report.fingerprint.cacheLine?.pairs += [
            .init(first: 0, second: 2, roundTripNanoseconds: 210)
        ]
        #expect(
            report.cacheLineText.contains(
                "When the run began it was 120 ns between 0 and 1, and 210 ns between 0 and 2."
            )
        )
        report.fingerprint.cacheLine = .init(pairs: [], modes: [], missingBecause: "No pair.")
        #expect(terminal().contains("a cache line between processors was not measured. No pair."))
        report.fingerprint.cacheLine = nil
        #expect(!terminal().contains("cache line"))
    }
}
