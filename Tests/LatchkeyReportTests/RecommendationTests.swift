import LatchkeyStrategies
import Testing

@testable import LatchkeyComparison
@testable import LatchkeyReport

/// The recommendation, and the sentences about it.
struct RecommendationTests {
    private func sample(
        _ strategies: [StrategyKind],
        threads: [Int] = [1, 8],
        rate: @escaping (StrategyKind, Int) -> Double
    ) -> ComparisonReport {
        SampleReport(
            strategies: strategies,
            threads: threads,
            speed: { rate($0, $1) / SampleReport.rate($0, $1) }
        ).make()
    }

    @Test func `a flip over the read ratio names the ratio`() {
        func sample(readRatio: Double, _ lock: Double, _ other: Double) -> ComparisonReport {
            SampleReport(
                strategies: [.lock, .readWriteLock],
                threads: [4],
                workloads: [SampleReport.workload(readRatio: readRatio)],
                speed: { kind, _ in kind == .lock ? lock : other }
            ).make()
        }
        var report = sample(readRatio: 1, 1, 3)
        report.cases += sample(readRatio: 0, 10, 1).cases
        let recommendation = report.verdict
        #expect(recommendation.strategies == ["lock"])
        #expect(recommendation.flip.hasPrefix("Except: `read-write-lock` with reads only: "))
    }

    @Test func `strategies whose intervals overlap are not told apart`() {
        let report = sample([.lock, .spin, .mutex]) { kind, _ in kind == .mutex ? 1e5 : 1e6 }
        let recommendation = report.verdict
        #expect(recommendation.outcome == .several)
        #expect(recommendation.strategies == ["lock", "spin"])
        #expect(
            recommendation.sentence == "Keep `lock`: no other is better by 10 % on average."
        )
        #expect(recommendation.notes.contains("Within 10 % of `lock` on average: `spin`."))
        #expect(recommendation.news.first?.hasPrefix("Not here: `mutex` ") == true)
    }

    @Test(arguments: [1, 2, 3])
    func `fewer than three repeats are not ranked, unless by force`(repeats: Int) {
        var report = SampleReport(strategies: [.lock, .spin], threads: [1], repeats: repeats).make()
        report.conclude(isForced: false)
        #expect((report.conditions.ranking == .refused) == (repeats < 3))
        #expect((report.recommendation?.outcome == .refused) == (repeats < 3))
        #expect(report.conditions.findings.count == (repeats < 3 ? 1 : 0))
        report.conclude(isForced: true)
        // A difference that may be chance is not named by force either.
        let sentence = report.recommendation?.sentence
        #expect((sentence == "Cannot tell `spin` from `lock`: keep `lock`.") == (repeats < 3))
        #expect((report.conditions.ranking == .forced) == (repeats < 3))
        #expect(report.conditions.findings.count == (repeats < 3 ? 1 : 0), "said once")
    }

    @Test func `an open loop is ranked by the response from when it was due`() throws {
        let report = SampleReport(strategies: [.lock, .spin, .mutex], threads: [1, 2]).open {
            switch $0 {
            case .lock: 20_000
            case .spin: 10_000
            default: 40_000
            }
        }
        let recommendation = report.verdict
        #expect(recommendation.strategies == ["spin"])
        #expect(
            recommendation.sentence
                == "Use `spin`: 50 % shorter p99 response than `lock` on average over 1 to 2 "
                + "threads."
        )
        #expect(recommendation.flip.hasPrefix("No other is surely better by 10 %"))
        let stuck = SampleReport(strategies: [.lock, .spin, .mutex], threads: [1, 2]).open {
            $0 == .spin ? 10_000 : 20_000_000
        }
        #expect(
            stuck.verdict.sentence
                == "Use `spin`: 2.00k times shorter p99 response than `lock` on average over 1 to "
                + "2 threads."
        )
    }

    @Test func `an asynchronous strategy's waits are neither praised nor blamed`() throws {
        var report = sample([.lock, .spin, .actor]) { kind, _ in kind == .spin ? 4e6 : 1e6 }
        for index in report.cases.indices {
            let isActor = report.cases[index].strategy == "actor"
            report.cases[index].summary.wait = .sample(p50: isActor ? 1 : 1e6)
        }
        let notes = report.verdict.notes
        #expect(!notes.contains { $0.hasPrefix("If long waits matter") }, "\(notes)")
        report.rename(.actor, to: "monitor")
        let other = report.verdict.notes
        #expect(other.contains { $0.hasPrefix("If long waits matter more than throughput: `mon") })
    }

    @Test func `in an open loop, too, a bistable strategy is not preferred`() throws {
        var report = SampleReport(strategies: [.lock, .spin], threads: [4])
            .open { $0 == .lock ? 20_000 : 10_000 }
        #expect(report.verdict.strategies == ["spin"])
        let index = try #require(report.cases.firstIndex { $0.strategy == "spin" })
        for place in [1, 3] {
            report.cases[index].repeats[place].responseFromIntendedStart?.p99Nanoseconds = 50e6
        }
        let recommendation = report.verdict
        #expect(recommendation.strategies == ["lock"])
        #expect(report.terminal(width: 100).contains("~=10.0 µs"))
    }

    @Test func `a strategy that does not keep up with an open loop's rate is not ranked`() throws {
        var report = SampleReport(strategies: [.lock, .mutex, .spin], threads: [4])
            .open { $0 == .lock ? 20_000 : 10_000 }
        let index = try #require(report.cases.firstIndex { $0.strategy == "spin" })
        report.cases[index].summary.operationsPerSecond.median = 0.8e5
        let recommendation = report.verdict
        #expect(recommendation.strategies == ["mutex"])
        #expect(
            recommendation.notes.contains(
                "`spin` did not keep up with the rate on 4 threads and is not ranked."
            )
        )
        #expect(report.terminal(width: 100).contains(">10.0 µs"))
    }

    @Test func `refused ranking recommends nothing and says why`() {
        var report = sample([.lock, .spin]) { kind, _ in kind == .spin ? 2e6 : 1e6 }
        report.conditions.ranking = .refused
        report.conditions.findings = ["This is a debug build."]
        let refused = report.verdict
        #expect(refused.outcome == .refused)
        #expect(refused.strategies.isEmpty)
        #expect(
            refused.lines == [
                "Nothing is recommended: these figures cannot be ranked.",
                "--force ranks them anyway, and says so.",
            ]
        )
        #expect(refused.notes == ["This is a debug build."])
        report.conditions.ranking = .forced
        let forced = report.verdict
        #expect(forced.strategies == ["spin"])
        #expect(forced.notes[0] == "Ranked because of --force. Problem: This is a debug build.")
    }

    @Test func `where no two strategies can be ranked it is told why`() {
        var report = SampleReport(strategies: [.lock, .spin, .mutex], threads: [1, 2]).make()
        report.cases.removeAll {
            $0.strategy == "mutex" || $0.strategy == "spin" && $0.threads == 2
        }
        let found = report.verdict
        #expect(found.sentence == "Nothing is recommended: no two strategies can be ranked.")
        #expect(
            found.notes == [
                "`spin` was not measured in every case and is not ranked.",
                "`mutex` was not measured.",
            ]
        )
        let single = SampleReport(strategies: [.lock], threads: [1, 2]).make()
        #expect(
            single.verdict.sentence
                == "Nothing is recommended: a comparison needs at least two strategies."
        )
    }

    @Test func `a strategy that failed a check is not ranked`() {
        var report = sample([.lock, .spin]) { kind, _ in kind == .spin ? 2e6 : 1e6 }
        report.verdicts = [
            ComparisonReport.Verdict(
                strategy: "spin",
                check: .tornReads,
                outcome: .failed,
                checkedCount: 1
            )
        ]
        #expect(report.verdict.outcome == .refused, "one is left")
        report.settings.strategies.append(.mutex)
        report.cases += sample([.mutex]) { _, _ in 1e5 }.cases
        let recommendation = report.verdict
        #expect(recommendation.strategies == ["lock"])
        #expect(recommendation.notes.contains { $0.contains("failed the check 'torn-reads'") })
    }

    @Test(arguments: [(0.8, true), (0.89, true), (0.9, false)])
    func `a recommended strategy that is not fair is said not to be`(
        jainIndex: Double,
        isNoted: Bool
    ) throws {
        var report = sample([.lock, .spin]) { kind, _ in kind == .spin ? 4e6 : 1e6 }
        for index in report.cases.indices {
            let isBest = report.cases[index].strategy == "spin"
            report.cases[index].summary.jainIndex = isBest ? jainIndex : 0.81
        }
        let unfair = report.verdict.notes.filter {
            $0.contains("is not fair")
        }
        #expect(unfair.count == (isNoted ? 1 : 0))
        #expect(unfair.allSatisfy { $0.hasPrefix("`spin` ") }, "\(unfair)")
    }

    @Test func `shorter waits and less processor time elsewhere are said`() {
        let report = sample([.lock, .spin]) { kind, _ in kind == .spin ? 4e6 : 1e6 }
        var slow = report
        for index in slow.cases.indices
        where slow.cases[index].strategy == "spin" && slow.cases[index].threads == 8 {
            slow.cases[index].summary.wait = .sample(p50: 2e5)
            slow.cases[index].summary.cpuSecondsPerMillionOperations? *= 6
        }
        let notes = slow.verdict.notes
        #expect(
            notes.contains { $0.hasPrefix("If long waits matter more than throughput: `lock`") }
        )
        #expect(notes.contains { $0.hasPrefix("If processor time matters more: `lock`") })
    }
}
