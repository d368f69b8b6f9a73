import Foundation
import LatchkeyStrategies
import Testing

@testable import LatchkeyComparison
@testable import LatchkeyReport

/// Crossovers and cliffs along the measured points.
struct ChangesTests {
    private func sweep(_ rates: [Double]) -> [Int: [Double]] {
        Dictionary(uniqueKeysWithValues: zip([1, 2, 4, 8], rates.map(steady)))
    }

    @Test func `strategies cross between the two neighbours at which the order changes`() {
        // A straight line from 1 to 8 would put the crossing at 1.4, where nothing crosses.
        let report = ComparisonReport.plain([
            .mutex: sweep([50e6, 30e6, 20e6, 1e6]), .monitor: sweep([30e6, 10e6, 8e6, 7e6]),
        ])
        #expect(Ranking(report).crossovers == [.sample(4, "mutex", "monitor")])
    }

    @Test func `a change through a point without a difference has no place, and is not told`() {
        let report = ComparisonReport.plain([
            .lock: sweep([50e6, 30e6, 20e6, 10e6]), .spin: sweep([40e6, 30e6, 25e6, 15e6]),
        ])
        #expect(Ranking(report).crossovers.isEmpty)
    }

    @Test func `a strategy that is not surely better by 10 % crosses no other`() {
        let report = ComparisonReport.plain([
            .lock: sweep([50e6, 30e6, 20e6, 10e6]), .spin: sweep([40e6, 36e6, 25e6, 15e6]),
        ])
        #expect(Ranking(report).crossovers.map(\.from) == [1])
        let near = ComparisonReport.plain([
            .lock: sweep([50e6, 30e6, 20e6, 10e6]), .spin: sweep([40e6, 32e6, 25e6, 15e6]),
        ])
        #expect(Ranking(near).crossovers.isEmpty)
    }

    @Test func `where ranking is refused there are neither crossovers nor cliffs`() {
        var report = ComparisonReport.plain([
            .lock: sweep([50e6, 30e6, 20e6, 10e6]), .mutex: sweep([60e6, 36e6, 25e6, 4e4]),
        ])
        #expect(report.concluded().crossovers.count == 1)
        #expect(report.concluded().cliffs.count == 1)
        report.conditions.ranking = .refused
        report.conditions.findings = ["This is a debug build."]
        let refused = report.concluded()
        #expect(refused.crossovers.isEmpty && refused.cliffs.isEmpty)
        #expect(refused.recommendation?.news == [])
    }

    @Test func `strategies cross over the read ratio, too`() {
        func cases(_ ratio: Double, _ lock: Double, _ other: Double) -> [ComparisonReport.Case] {
            ComparisonReport.plain(
                [.lock: [2: steady(lock)], .readWriteLock: [2: steady(other)]],
                workload: SampleReport.workload(readRatio: ratio)
            ).cases
        }
        var report = ComparisonReport.plain([.lock: [:], .readWriteLock: [:]])
        report.cases = cases(0, 2e6, 1e6) + cases(0.5, 15e5, 12e5) + cases(1, 1e6, 2e6)
        let found = Ranking(report).crossovers
        #expect(found.map(\.axis) == [.readRatio])
        #expect(found.map(\.from) == [0.5] && found.map(\.to) == [1])
        #expect(found.map(\.threads) == [2])
        #expect(found.map(\.fasterAbove) == ["read-write-lock"])
    }

    @Test func `an open loop has neither crossovers nor cliffs`() {
        let report = SampleReport(strategies: [.lock, .spin], threads: [1, 2]).open {
            $0 == .lock ? 20_000 : 10_000
        }
        #expect(Ranking(report).crossovers.isEmpty && Ranking(report).cliffs.isEmpty)
    }

    @Test func `a fall by more than a factor of 3 between neighbours is told in line three`() throws
    {
        let report = ComparisonReport.plain([
            .lock: sweep([40e6, 14e6, 13e6, 12e6]), .mutex: sweep([50e6, 6.9e6, 6.5e6, 39e3]),
        ]).concluded()
        #expect(report.cliffs.map(\.strategy) == ["mutex", "mutex"])
        #expect(report.cliffs.map(\.toThreads) == [8, 2], "the deepest first")
        let found = try #require(report.recommendation)
        #expect(
            found.news == ["Not here: `mutex` collapses above 4 threads: 167 times slower."],
            "once, although it falls twice"
        )
        for text in [report.terminal(width: 120), MarkdownReport(report).text] {
            #expect(text.contains(found.news[0]))
        }
    }

    @Test(arguments: [true, false])
    func `a fall under all workloads has no condition, and another one what is special of it`(
        isEverywhere: Bool
    ) {
        let workloads = [50, 500].map { SampleReport.workload(section: $0) }
        var report = ComparisonReport.plain([:])
        for (index, workload) in workloads.enumerated() {
            let falls = isEverywhere || index == 1
            let rates = sweep([10e6, 10e6, 10e6, falls ? 10e6 / (100 * Double(index + 1)) : 10e6])
            report.cases +=
                ComparisonReport.plain(
                    [.lock: sweep([10e6, 10e6, 10e6, 10e6]), .mutex: rates],
                    workload: workload
                ).cases
        }
        let clause =
            isEverywhere
            ? "above 4 threads: up to 200 times slower"
            : "above 4 threads with a section of 500 ns: 200 times slower"
        #expect(
            report.concluded().recommendation?.news == ["Not here: `mutex` collapses \(clause)."]
        )
    }

    @Test func `many cliffs are counted, and a fall in the noise is none`() {
        let many = ComparisonReport.plain([
            .lock: sweep([40e6, 40e6, 40e6, 40e6]), .mutex: sweep([50e6, 5e6, 5e6, 5e6]),
            .spin: sweep([50e6, 6e6, 6e6, 6e6]), .ticket: sweep([50e6, 7e6, 7e6, 7e6]),
            .adaptive: sweep([50e6, 8e6, 8e6, 8e6]), .monitor: sweep([50e6, 9e6, 9e6, 9e6]),
        ]).concluded()
        #expect(many.cliffs.count == 5)
        #expect(
            many.recommendation?.news == [
                "Not here: `mutex` collapses above 1 thread: 10 times slower; `spin` collapses "
                    + "above 1 thread: 8.33 times slower; `ticket` collapses above 1 thread: 7.14 "
                    + "times slower; and 2 more."
            ]
        )
        #expect(
            many.recommendation?.notes.contains(
                "Not to be used here either: `adaptive` collapses above 1 thread: 6.25 times "
                    + "slower; `monitor` collapses above 1 thread: 5.56 times slower."
            ) == true
        )
        let all = ComparisonReport.plain([
            .lock: sweep([40e6, 4e6, 4e6, 4e6]), .mutex: sweep([50e6, 5e6, 5e6, 5e6]),
        ]).concluded()
        #expect(all.cliffs.count == 2 && all.recommendation?.news == [], "all fall")
        let noisy = ComparisonReport.plain([
            .lock: sweep([1e6, 1e6, 1e6, 1e6]),
            .mutex: [1: [2e6, 5e6, 10e6, 15e6, 30e6], 2: [5e6, 1e6, 4e6, 2e6, 3e6]],
        ])
        #expect(Ranking(noisy).cliffs.isEmpty)
    }
}
