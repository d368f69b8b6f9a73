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

extension ComparisonReport.Case {
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
            summary: ComparisonReport.Summary(repeats, seed: 1)
        )
    }
}

/// Five repeats close to a rate.
func steady(_ rate: Double) -> [Double] { [0.99, 1, 1.005, 0.995, 1.01].map { $0 * rate } }
