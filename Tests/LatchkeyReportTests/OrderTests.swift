import LatchkeyStrategies
import Testing

@testable import LatchkeyComparison
@testable import LatchkeyReport

/// The laws of the order, on random reports.
@Suite(.timeLimit(.minutes(15)))
struct OrderTests {
    private static let kinds = [StrategyKind.lock, .spin, .mutex, .adaptive]

    /// Repeats of one case: steady, noisy, in two modes, or with one slow repeat.
    private func repeats(_ count: Int, below most: Double, _ random: inout SeededRandom) -> [Double]
    {
        let shape = Int.random(in: 0..<4, using: &random)
        let width = [0.01, 0.3, 0.02, 0.05][shape]
        var values = (0..<count).map { _ in (width * random.normal()).magnitude }.map {
            most / (1 + $0)
        }
        let slow = shape == 2 ? Int.random(in: 2...max(2, count / 2), using: &random) : 1
        if shape >= 2 { for index in 0..<min(slow, count) { values[index] /= 20 } }
        return values.shuffled(using: &random)
    }

    /// Three strategies with some overlap, and one that is below one of them everywhere.
    private func randomReport(_ seed: UInt64) -> ComparisonReport {
        var random = SeededRandom(seed: seed)
        let count = Int.random(in: 3...9, using: &random)
        var points: [[Int: [Double]]] = [[:], [:], [:], [:]]
        let leader = Int.random(in: 0..<3, using: &random)
        for threads in [1, 4] {
            for index in 0..<3 {
                let most = 1e6 * Double.random(in: 0.5...2, using: &random)
                points[index][threads] = repeats(count, below: most, &random)
            }
            let least = points[leader][threads]?.min() ?? 1
            let below = least * Double.random(in: 0.8...0.999, using: &random)
            points[3][threads] = repeats(count, below: below, &random)
        }
        var report = ComparisonReport.plain([
            Self.kinds[0]: points[0], Self.kinds[1]: points[1], Self.kinds[2]: points[2],
            Self.kinds[3]: points[3],
        ])
        report.conditions.leastRatio = Double.random(in: 1...1.5, using: &random)
        for index in report.cases.indices {
            report.cases[index].summary.jainIndex = Double.random(in: 0.7...1, using: &random)
            report.cases[index].summary.wait = .sample(
                p50: Double.random(in: 100...3_000, using: &random)
            )
        }
        return report
    }

    /// The repeats of a strategy, the slowest first, for each number of threads.
    private func values(_ report: ComparisonReport, _ kind: StrategyKind) -> [[Double]] {
        report.cases.filter { $0.strategy == kind.rawValue }.map {
            $0.repeats.map(\.operationsPerSecond).sorted()
        }
    }

    @Test func `who is above in every repeat is never behind`() {
        var pairs = 0
        for seed in 0..<80 {
            let report = randomReport(UInt64(seed))
            for better in Self.kinds {
                for worse in Self.kinds where better != worse {
                    let isAbove = zip(values(report, better), values(report, worse))
                        .allSatisfy { ($0.first ?? 0) > ($1.last ?? 0) }
                    guard isAbove else { continue }
                    pairs += 1
                    check(report, better.rawValue, isNeverBehind: worse.rawValue, seed)
                }
            }
        }
        #expect(pairs >= 80)
    }

    private func check(
        _ report: ComparisonReport,
        _ better: String,
        isNeverBehind worse: String,
        _ seed: Int
    ) {
        let ranking = Ranking(report)
        let lists = [ranking.overall] + ranking.standings.values
        for standings in lists {
            let names = standings.map(\.strategy)
            let (first, second) = (names.firstIndex(of: better), names.firstIndex(of: worse))
            #expect((first ?? 9) < (second ?? 9), "seed \(seed): \(standings)")
            if let first, let second {
                #expect(!ranking.isAhead(standings[second], of: standings[first]), "seed \(seed)")
            }
            let leaders = ranking.leaders(standings).map(\.strategy)
            #expect(!leaders.contains(worse) || leaders.contains(better), "seed \(seed)")
        }
        let found = ComparisonReport.Recommendation(report)
        let headline = Headline(report, ranking)
        if found.strategies.first == worse {
            // It is the current one, or preferred; and the better one is not better for sure.
            let ratio = headline.ratio(better, to: worse)
            let isPassedOver = found.passedOver.contains { $0.strategy == better }
            let isSure = ratio.map(headline.isBetter) ?? true
            #expect(isPassedOver || !isSure, "seed \(seed): \(found.lines)")
        }
        #expect(headline.ratio(worse, to: better)?.value ?? 9 < 1, "seed \(seed)")
    }

    @Test func `who is slower in no quantile is not behind, whatever the modes`() {
        var random = SeededRandom(seed: 5)
        for round in 0..<80 {
            let count = Int.random(in: 3...9, using: &random)
            let slower = repeats(count, below: 1e6, &random).sorted()
            // Each quantile is raised by its own factor, and the upper ones by one more, which can
            // make or unmake two modes.
            let jump = Double.random(in: 1...4, using: &random)
            let split = Int.random(in: 0..<count, using: &random)
            let faster = slower.enumerated().map { index, value in
                value * Double.random(in: 1...1.02, using: &random) * (index < split ? 1 : jump)
            }.sorted()
            let report = ComparisonReport.plain([.lock: [2: slower], .spin: [2: faster]])
            let ranking = Ranking(report)
            let standings = ranking.overall
            #expect(standings.first?.strategy == "spin", "\(round)")
            #expect(!ranking.isAhead(standings[1], of: standings[0]), "\(round)")
            #expect(ranking.leaders(standings).first?.strategy == "spin", "\(round)")
            let found = ComparisonReport.Recommendation(report)
            #expect(found.news.allSatisfy { !$0.contains("`spin` is") }, "\(found.news)")
        }
    }

    @Test func `a worse mode does not put a strategy behind one that is slower in every quantile`()
    {
        let report = ComparisonReport.plain([
            .lock: [4: [4.9e6, 5.0e6, 5.4e6, 5.5e6, 5.6e6]],
            .spin: [4: [5.0e6, 5.1e6, 9.0e6, 9.2e6, 9.4e6]],
        ])
        #expect(report.cases[1].summary.isBistable)
        let ranking = Ranking(report)
        #expect(ranking.overall.map(\.strategy) == ["spin", "lock"])
        let found = ComparisonReport.Recommendation(report)
        #expect(found.strategies.first == "lock", "nothing is sure: \(found)")
        #expect(found.news.isEmpty)
    }

    @Test func `one slow repeat of five is flagged, is no mode, and leaves a sane interval`() throws
    {
        let rates = [6.03e6, 7.23e6, 0.03e6, 6.68e6, 7.37e6]
        let report = ComparisonReport.plain([.lock: [4: rates], .spin: [4: steady(3e6)]])
            .concluded()
        let summary = report.cases[0].summary
        #expect(!summary.isBistable)
        #expect(summary.slowRepeatOperationsPerSecond == 0.03e6)
        #expect(summary.operationsPerSecond.min == 0.03e6, "hidden nowhere")
        #expect(summary.operationsPerSecond.intervalLow == 6.03e6)
        #expect(summary.operationsPerSecond.intervalHigh == 7.37e6)
        let found = try #require(report.recommendation)
        #expect(found.outcome == .one && found.strategies == ["lock"])
        #expect(
            found.notes.contains {
                $0.hasPrefix("One repeat was far slower than the others (!): `lock` on 4 threads")
            }
        )
        let text = TerminalReport(report, style: TerminalStyle(width: 120, usesColor: false)).text
        #expect(text.contains("!=6.68M"))
        #expect(!text.contains("~=6.68M"))
        #expect(MarkdownReport(report).text.contains("**\\!6.68M**"))
    }
}
