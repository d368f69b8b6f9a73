import Foundation
import LatchkeyStrategies
import Testing

@testable import LatchkeyComparison
@testable import LatchkeyReport

/// What rounds of short slices decide.
@Suite struct RoundRatioTests {
    /// Two strategies on two threads, the second one this much faster: repeats that tell nothing
    /// apart, and rounds in which the processors are far apart for a while, in both strategies.
    ///
    /// Rounds in `moved` say something else.
    private static func report(
        _ ratio: Double,
        seed: UInt64 = 1,
        farShare: Double = 0.3,
        moved: Set<Int> = [],
        drift: Double = 0
    ) -> ComparisonReport {
        var random = SeededRandom(seed: seed)
        let drifts = (0..<6).map { _ in exp(drift * random.normal()) }
        var report = ComparisonReport.plain([
            .lock: [2: [2.5e6, 5e6, 5.2e6, 2.6e6, 5.1e6]],
            .adaptive: [2: [5.1e6, 2.6e6, 5.3e6, 5e6, 2.4e6]],
        ])
        let areFar = (0..<50).map { _ in random.unit() < farShare }
        for (index, factor) in [1, ratio].enumerated() {
            let speeds = areFar.enumerated().map { round, isFar in
                let mode = moved.contains(round) ? 0.1 * factor : isFar ? 0.5 : 1
                return (5e6 * factor * mode * exp(0.02 * random.normal())).rounded()
            }.enumerated().map { round, speed in
                index == 0
                    ? speed : (speed * drifts[round / ComparisonReport.Rounds.perRepeat]).rounded()
            }
            let rounds = ComparisonReport.Rounds(
                operationsPerSecond: speeds,
                leftOut: moved.isEmpty ? nil : moved
            )
            report.cases[index].take(rounds)
        }
        return report
    }

    private static func ratio(_ report: ComparisonReport) throws -> SpeedRatio {
        try #require(SpeedRatio(report.cases[1], report.cases[0]))
    }

    @Test(arguments: [0.1, 0.3, 0.5, 0.9])
    func `3 percent are found in both modes, and nothing where there is nothing`(
        farShare: Double
    ) throws {
        var foundCount = 0
        var wrongCount = 0
        for seed in 0..<100 {
            let faster = try Self.ratio(
                Self.report(1.03, seed: UInt64(seed), farShare: farShare)
            )
            #expect(faster.low < 1.03 && faster.high > 1.01, "\(faster)")
            if faster.low > 1 { foundCount += 1 }
            let same = try Self.ratio(Self.report(1, seed: UInt64(seed), farShare: farShare))
            if same.low > 1 || same.high < 1 { wrongCount += 1 }
            #expect(same.high < Headline.gainMin, "\(same)")
        }
        #expect(foundCount >= 90, "\(foundCount) of 100")
        // The interval holds the ratio in 19 of 20 runs.
        #expect(wrongCount <= 8, "\(wrongCount) of 100")
    }

    /// What one strategy does changes by a few percent between two repeats, for seconds.
    @Test func `rounds after one repeat are no independent evidence`() throws {
        var wrongCount = 0
        for seed in 0..<200 {
            let same = try Self.ratio(Self.report(1, seed: UInt64(seed), drift: 0.05))
            if same.low > 1 || same.high < 1 { wrongCount += 1 }
        }
        #expect(wrongCount <= 20, "\(wrongCount) of 200")
    }

    /// Short slices say something else than long ones, by up to a factor of 1.5.
    @Test(arguments: [0.75, 0.9, 1.0, 1.1, 1.4])
    func `a strategy with rounds and one without are compared by their repeats`(
        bias: Double
    ) throws {
        let values = [5e6, 5.02e6, 4.98e6, 5.01e6, 4.99e6]
        for seed in 0..<10 {
            var random = SeededRandom(seed: UInt64(seed))
            var report = ComparisonReport.plain([
                .lock: [2: values, 4: values], .adaptive: [2: values, 4: values],
            ])
            let biased = seed.isMultiple(of: 2) ? "lock" : "adaptive"
            for index in report.cases.indices where report.cases[index].strategy == biased {
                let speeds = (0..<45).map { _ in
                    (5e6 * bias * exp(0.01 * random.normal())).rounded()
                }
                report.cases[index].take(.init(operationsPerSecond: speeds))
            }
            let ratio = try #require(SpeedRatio(report.cases[0], report.cases[2]))
            #expect(ratio.low <= 1 && ratio.high >= 1, "\(ratio)")
            let ranking = Ranking(report)
            #expect(report.cases.allSatisfy(ranking.isBest))
            let found = try #require(report.concluded().recommendation)
            #expect(found.sentence == "No difference found: keep `lock`.")
            #expect(!found.flip.hasPrefix("Except"))
        }
    }

    @Test func `a repeat that does not collapse is in the interval`() throws {
        let report = ComparisonReport.plain([
            .mutex: [8: [1e6, 33e3, 34e3, 38e3, 40e3]], .lock: [8: steady(5.8e6)],
        ])
        let ratio = try #require(SpeedRatio(report.cases[1], report.cases[0]))
        #expect(ratio.low < 6 && ratio.value > 100 && ratio.high > 100, "\(ratio)")
    }

    @Test func `a fall is told no greater than the repeats say, nor than the table`() throws {
        for (rounds, told) in [(7.35e6, 166.0), (6e6, 150.0)] {
            var report = ComparisonReport.plain([
                .mutex: [4: steady(6.64e6), 8: steady(40e3)],
                .lock: [4: steady(5e6), 8: steady(5e6)],
            ])
            let speeds = (0..<45).map { _ in rounds }
            report.cases[0].take(.init(operationsPerSecond: speeds))
            let fall = try #require(Ranking(report).cliffs.first)
            #expect(abs(fall.ratio / told - 1) < 0.01, "\(fall)")
        }
    }

    @Test func `the ratio of B to A is the inverse of that of A to B`() throws {
        for seed in 0..<20 {
            let report = Self.report(1.2, seed: UInt64(seed))
            let ratio = try Self.ratio(report)
            let inverse = try #require(SpeedRatio(report.cases[0], report.cases[1]))
            #expect(abs(ratio.value * inverse.value - 1) < 1e-9)
            #expect(abs(ratio.low * inverse.high - 1) < 1e-9)
            #expect(abs(ratio.high * inverse.low - 1) < 1e-9)
        }
    }

    @Test func `a round in which the processors were moved decides nothing`() throws {
        // 29 of 50 would say a factor of 0.1.
        let ratio = try Self.ratio(Self.report(1.2, moved: Set(0..<29)))
        #expect(ratio.low > 1.15 && ratio.high < 1.25, "\(ratio)")
    }

    @Test func `a round that is left out of one strategy counts in no ratio`() throws {
        var report = Self.report(1)
        report.cases[1].rounds?.leftOut = Set(0..<28)
        let other = try #require(report.cases[0].rounds)
        #expect(report.cases[1].rounds?.ratioLogarithms(to: other).count == 22)
        #expect(other.ratioLogarithms(to: try #require(report.cases[1].rounds)).count == 22)
    }

    @Test func `the verdict is that of the rounds, without marks`() throws {
        let report = Self.report(1.3, farShare: 0.5).concluded()
        let found = try #require(report.recommendation)
        #expect(found.sentence.hasPrefix("Use `adaptive`: "), "\(found)")
        #expect(!found.notes.contains { $0.contains("two modes (~)") || $0.contains("(!)") })
        #expect(report.cases.allSatisfy { RankedFigure.throughput.marks($0).isEmpty })
        // The same repeats without rounds do not tell the two apart.
        var blind = Self.report(1.3, farShare: 0.5)
        for index in blind.cases.indices {
            blind.cases[index].rounds = nil
            blind.cases[index].summary = .init(blind.cases[index].repeats)
        }
        #expect(blind.concluded().recommendation?.strategies.first == "lock")
    }
}
