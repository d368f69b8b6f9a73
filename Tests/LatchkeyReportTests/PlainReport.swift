import Foundation
import LatchkeyStrategies

@testable import LatchkeyComparison
@testable import LatchkeyReport

extension ComparisonReport {
    /// A report of these throughputs: for each strategy the repeats by number of threads.
    static func plain(
        _ rates: KeyValuePairs<StrategyKind, [Int: [Double]]>,
        workload: Workload = SampleReport.workload()
    ) -> ComparisonReport {
        var report = ComparisonReport.empty
        report.settings.strategies = rates.map { StrategyName($0.key) }
        report.cases = rates.flatMap { kind, points in
            points.sorted { $0.key < $1.key }.map { threads, values in
                Case.plain(kind.rawValue, threads, values, workload)
            }
        }
        report.settings.threads = Set(report.cases.map(\.threads)).sorted()
        return report
    }

    /// The same, decided.
    func concluded() -> ComparisonReport {
        var report = self
        report.conclude(isForced: false)
        return report
    }

    /// The recommendation, with the conditions as they are.
    var verdict: Recommendation {
        var report = self
        report.conclude(isForced: false)
        return report.recommendation ?? Recommendation()
    }

    /// Adds rounds to this share of the cases, with the speed that the repeats have, and a noise
    /// that all cases of a round share besides their own.
    mutating func addRounds(
        noise: Double,
        share: Double = 1,
        _ random: inout SeededRandom,
        count: Int = 50
    ) {
        let shared = (0..<count).map { _ in exp(noise * random.normal()) }
        for index in cases.indices where random.unit() < share {
            let speed = cases[index].summary.operationsPerSecond.median
            let rounds = Rounds(
                operationsPerSecond: shared.map {
                    (speed * $0 * exp(noise / 2 * random.normal())).rounded()
                }
            )
            cases[index].take(rounds)
        }
    }

    /// Gives the cases of a strategy another name.
    mutating func rename(_ kind: StrategyKind, to name: String) {
        for index in cases.indices where cases[index].strategy == kind.rawValue {
            cases[index].strategy = name
        }
    }

    /// The text for the terminal.
    func terminal(width: Int, usesColor: Bool = false) -> String {
        TerminalReport(self, style: TerminalStyle(width: width, usesColor: usesColor)).text
    }

    /// With other figures in the cases of a strategy.
    func with(
        _ kind: StrategyKind,
        threads: Int? = nil,
        _ change: (inout Summary) -> Void
    ) -> ComparisonReport {
        var report = self
        for index in report.cases.indices
        where report.cases[index].strategy == kind.rawValue
            && (threads ?? report.cases[index].threads) == report.cases[index].threads
        {
            change(&report.cases[index].summary)
        }
        return report
    }
}

extension ComparisonReport.Crossover {
    /// Between one number of threads and twice as many.
    static func sample(_ from: Double, _ below: String, _ above: String) -> Self {
        Self(
            axis: .threads,
            workload: SampleReport.workload(),
            from: from,
            to: 2 * from,
            fasterBelow: below,
            fasterAbove: above
        )
    }
}

extension ComparisonReport.Case {
    /// Sets the rounds and their throughput; a bootstrap would take most of the time of a test.
    mutating func take(_ rounds: ComparisonReport.Rounds) {
        let sorted = rounds.counted.sorted()
        self.rounds = rounds
        summary.operationsPerSecond = ComparisonReport.Spread(
            min: sorted[0],
            median: Statistics.median(sorted),
            max: sorted[sorted.count - 1],
            intervalLow: Statistics.quantile(0.4, sorted: sorted),
            intervalHigh: Statistics.quantile(0.6, sorted: sorted)
        )
    }

    static func plain(
        _ strategy: String,
        _ threads: Int,
        _ rates: [Double],
        _ workload: ComparisonReport.Workload
    ) -> ComparisonReport.Case {
        let repeats = rates.enumerated().map { index, rate in
            let operations = Int(rate * 1_000)
            return ComparisonReport.Repeat(
                index: index,
                operations: operations,
                seconds: 1_000,
                operationsPerThread: [Int](repeating: operations / threads, count: threads)
            )
        }
        return ComparisonReport.Case(
            strategy: strategy,
            threads: threads,
            workload: workload,
            repeats: repeats,
            summary: ComparisonReport.Summary(repeats)
        )
    }
}

/// Five repeats close to a rate.
func steady(_ rate: Double) -> [Double] { [0.99, 1, 1.005, 0.995, 1.01].map { $0 * rate } }
