import Foundation
import LatchkeyStrategies
import Testing

@testable import LatchkeyComparison
@testable import LatchkeyReport

/// Tables on which a verdict once contradicted itself or its table.
struct VerdictRuleTests {
    private func found(_ report: ComparisonReport) -> ComparisonReport.Recommendation {
        ComparisonReport.Recommendation(report)
    }

    @Test func `the ratio of B to A is the inverse of that of A to B`() throws {
        var random = SeededRandom(seed: 3)
        for round in 0..<200 {
            let count = [3, 5, 9][round % 3]
            func values() -> [Double] {
                (0..<count).map { _ in
                    1e6 * exp(0.2 * random.normal()) * (random.unit() < 0.15 ? 0.1 : 1)
                }
            }
            let cases = ComparisonReport.plain([.lock: [1: values()], .spin: [1: values()]]).cases
            let one = try #require(SpeedRatio(cases[0], cases[1]))
            let other = try #require(SpeedRatio(cases[1], cases[0]))
            #expect(abs(one.value * other.value - 1) < 1e-9)
            #expect(abs(one.low * other.high - 1) < 1e-9, "\(one) \(other)")
            #expect(abs(one.high * other.low - 1) < 1e-9, "\(one) \(other)")
            #expect(one.low <= one.value && one.value <= one.high)
            let table = cases.map(\.summary.operationsPerSecond.median)
            #expect(abs(one.value * table[1] / table[0] - 1) < 1e-9, "the table's ratio")
        }
    }

    @Test func `one slow repeat of the current one does not hide that it is better there`() {
        let fast = steady(1.6e6)
        let found = found(
            .plain([
                .lock: [
                    1: steady(1e6), 2: steady(1e6), 4: steady(1e6),
                    8: [1e6, 1.01e6, 0.99e6, 1e6, 0.6e6],
                ],
                .spin: [1: fast, 2: fast, 4: fast, 8: [0.7e6, 0.705e6, 0.695e6, 0.7e6, 0.72e6]],
            ])
        )
        #expect(found.strategies.first == "lock")
        #expect(found.flip == "Except: `spin` on 1 to 4 threads: 60 % more.")
    }

    @Test func `two modes of the current one do not disqualify those that are steady`() {
        let report = ComparisonReport.plain([
            .lock: [8: [1e6, 1.01e6, 1.005e6, 5e6, 5.02e6]], .spin: [8: steady(1.5e6)],
        ])
        #expect(found(report).passedOver.isEmpty && found(report).news.isEmpty)
    }

    @Test func `undecided is not the same as none`() {
        let same = steady(1e6)
        let found = found(
            .plain([
                .lock: [1: same, 8: same],
                .semaphore: [1: same, 8: [0.8e6, 1.0e6, 1.05e6, 1.35e6, 1.5e6]],
                .spin: [1: same, 8: steady(1.3e6)],
            ])
        )
        #expect(found.flip == "Others are better on 8 threads; the run is too noisy to tell which.")
        let alone = self.found(
            .plain([
                .lock: [8: same], .semaphore: [8: [0.8e6, 1.0e6, 1.05e6, 1.35e6, 1.5e6]],
                .spin: [8: steady(1.3e6)],
            ])
        )
        #expect(alone.sentence == "Too noisy to tell which is better: keep `lock`.")
        #expect(alone.notes.contains { $0.hasPrefix("Better: `spin`: 30 % more (95 ") })
    }

    @Test func `drawn again at the border, one strategy is named, or the current one stays`() {
        var random = SeededRandom(seed: 21)
        for (semaphore, adaptive) in [(1.1, 1.19), (1.15, 1.25), (1.3, 1.43)] {
            var names: [String: Int] = [:]
            for _ in 0..<40 {
                var points = [[Int: [Double]]](repeating: [:], count: 3)
                for threads in [1, 2, 4, 8] {
                    let rounds = (0..<5).map { _ in exp(0.02 * random.normal()) }
                    for (index, rate) in [1, semaphore, adaptive].enumerated() {
                        points[index][threads] = rounds.map {
                            1e6 * rate * $0 * exp(0.02 * random.normal())
                        }
                    }
                }
                let report = ComparisonReport.plain([
                    .lock: points[0], .semaphore: points[1], .adaptive: points[2],
                ])
                names[found(report).strategies.first ?? "", default: 0] += 1
            }
            #expect(
                min(names["semaphore"] ?? 0, names["adaptive"] ?? 0) <= 4,
                "\(semaphore): \(names)"
            )
        }
    }

    @Test func `who breaks a limit on a busy machine is not judged, and does not win`() {
        var report = ComparisonReport.plain([
            .lock: [2: steady(1e6), 4: steady(1e6)], .spin: [2: steady(5e6), 4: steady(5e6)],
        ])
        for index in report.cases.indices where report.cases[index].strategy == "spin" {
            for place in report.cases[index].repeats.indices {
                report.cases[index].repeats[place].operationsPerThread[0] /= 10
            }
        }
        let quiet = found(report)
        #expect(
            quiet.sentence == "Keep `lock`: `spin` is faster on average, but it breaks a limit."
        )
        #expect(quiet.news.first?.contains("of its share") == true)
        report.conditions.leastRatio = 1.5
        let busy = found(report)
        #expect(busy.sentence == "Too noisy to tell which is better: keep `lock`.")
        #expect(busy.news.isEmpty, "\(busy.news)")
    }

    @Test func `who is not to be used here is not as good`() {
        let same = [1: steady(1e6), 8: steady(1e6)]
        let report = ComparisonReport.plain([
            .lock: same, .spin: [1: steady(3.5e6), 8: steady(0.28e6)], .snapshot: same,
            .semaphore: same,
        ])
        #expect(found(report).news.first?.contains("`spin`") == true)
        #expect(found(report).strategies == ["lock", "semaphore"], "it starves, or copies")
    }

    @Test func `who cannot replace the current one is not as good as what does`() {
        let found = found(
            ComparisonReport.plain([
                .lock: [1: steady(1e6), 8: steady(1e6)],
                .adaptive: [1: steady(1.5e6), 8: steady(1.5e6)],
                .spin: [1: steady(2.8e6), 8: steady(0.8e6)],
            ])
        )
        #expect(found.strategies == ["adaptive"])
        #expect(found.passedOver.map(\.strategy) == ["spin"])
        #expect(!found.notes.contains { $0.hasPrefix("Within 10 %") }, "\(found.notes)")
    }

    @Test func `in line two, too, a limit is that of the current one`() {
        let report = ComparisonReport.plain([
            .lock: [1: steady(1e6), 2: steady(1e6), 8: steady(1e6)],
            .adaptive: [1: steady(2e6), 2: steady(2e6), 8: steady(2e6)],
            .spin: [1: steady(1e6), 2: steady(1e6), 8: steady(3e6)],
        ]).with(.lock, threads: 8) { $0.wait = .sample(p50: 150e3 / 20) }
            .with(.adaptive, threads: 8) { $0.wait = .sample(p50: 900e3 / 20) }
            .with(.spin, threads: 8) { $0.wait = .sample(p50: 2e6 / 20) }
        #expect(found(report).strategies.first == "adaptive")
        #expect(!found(report).flip.contains("`spin`"), "\(found(report).flip)")
        #expect(found(report).news.first?.contains("`spin` has a p99 wait of 2.00 ms") == true)
    }

    @Test func `10 % is one measure`() {
        let report = ComparisonReport.plain([
            .lock: [8: steady(1e6)], .spin: [8: steady(0.905e6)], .semaphore: [8: steady(0.95e6)],
        ])
        #expect(found(report).strategies == ["lock", "semaphore"])
        let next = ComparisonReport.plain([
            .lock: [8: steady(1e6)], .spin: [8: steady(0.905e6)],
        ])
        #expect(found(next).notes.contains("Next best: `spin` (`lock`: 10 % more)."))
    }

    @Test func `the next best is told without a figure where that is less than the noise`() {
        var report = ComparisonReport.plain([
            .lock: [8: steady(1e6)], .spin: [8: steady(0.8e6)],
        ])
        #expect(found(report).notes.contains("Next best: `spin` (`lock`: 25 % more)."))
        report.conditions.leastRatio = 1.4
        let text = "Next best: `spin` (behind `lock` by less than the noise of the run)."
        #expect(found(report).notes.contains(text))
    }

    @Test func `what copies stands in last, and its text says that writers copy`() {
        let report = ComparisonReport.plain([
            .snapshot: [8: steady(1e6)], .spin: [8: steady(1.02e6)],
        ])
        #expect(found(report).current == "spin")
        var kept = report
        kept.settings.currentStrategy = StrategyName(.snapshot)
        #expect(
            found(kept).sentence
                == "No difference of 10 % found: keep `snapshot`, whose writers copy the value."
        )
    }

    @Test func `line two is short, whatever the workloads, and the page shows its strategies`() {
        var random = SeededRandom(seed: 5)
        var report = ComparisonReport.plain([:])
        for (reads, section) in [(0.5, 50), (0.5, 5_000), (0.99, 50), (0.99, 5_000)] {
            var workload = SampleReport.workload(readRatio: reads, section: section)
            workload.stripes = section / 50
            for kind in [StrategyKind.lock, .spin, .adaptive, .mutex, .semaphore] {
                for threads in [1, 4, 8] {
                    let rate = 1e6 * exp(0.5 * random.normal())
                    report.cases.append(.plain(kind.rawValue, threads, steady(rate), workload))
                }
            }
        }
        let line = found(report).flip
        #expect(line.hasPrefix("Except: `") && line.contains("more condition"), "\(line)")
        #expect(line.wordCount <= 42, "\(line)")
    }

    @Test func `a share of next to nothing is 0 %`() {
        #expect(FigureText.percent(0.0003) == "0 %")
        #expect(FigureText.percent(0.007) == "0.7 %")
    }
}
