internal import LatchkeyComparison
internal import LatchkeyVerdict

/// The cases of a workload as a table: a row for each strategy, the best first.
struct WorkloadTable {
    typealias Case = ComparisonReport.Case

    let entries: [Case]
    let threads: [Int]
    /// For each strategy its case for each number of threads; the last one is for the greatest.
    let rows: [(strategy: String, cases: [Case?])]

    init(_ report: ComparisonReport, _ ranking: Ranking, _ workload: ComparisonReport.Workload) {
        let cases = report.cases.filter { $0.workload == workload }
        let entries = cases + report.baselines.filter { $0.workload == workload }
        let threads = cases.map(\.threads).uniqued().sorted()
        self.entries = entries
        self.threads = threads
        rows = ranking.order.compactMap { strategy -> (strategy: String, cases: [Case?])? in
            let own = entries.filter { $0.strategy == strategy }
            guard !own.isEmpty else { return nil }
            return (strategy, threads.map { count in own.first { $0.threads == count } })
        }
    }
}

/// A column of the terminal's table beside the ranked figure.
struct TerminalColumn {
    typealias Case = ComparisonReport.Case
    typealias Summary = ComparisonReport.Summary

    var heading: String
    /// Columns that do not fit are left out, beginning with the greatest number.
    var order: Int
    var text: (Case) -> String?

    private init(_ heading: String, _ order: Int, of text: @escaping (Case) -> String?) {
        self.heading = heading
        self.order = order
        self.text = text
    }

    private init(
        _ heading: String,
        _ order: Int,
        _ value: @escaping (Summary) -> Double?,
        _ text: @escaping (Double) -> String
    ) {
        self.init(heading, order) { value($0.summary).map(text) }
    }

    /// From left to right: how the ranked figure compares, response, throughput in an open loop,
    /// wait, hold, and their costs.
    static func all(isOpen: Bool, _ ranking: Ranking) -> [TerminalColumn] {
        let (time, quantile) = (FigureText.duration, FigureText.quantile)
        let comparison = [
            Self("of best", -2) { ranking.shareOfBest($0).map(FigureText.percent) },
            Self("interval", -1) { entry in
                entry.hasInterval
                    ? ranking.figure.spread(entry).map(ranking.figure.intervalText) : "none"
            },
        ]
        let loop =
            isOpen
            ? Self("ops/s", 3, { $0.operationsPerSecond.median }, FigureText.count)
            : Self("× alone", 14, \.costAgainstUnsynchronized) {
                FigureText.fixed($0, $0 < 9.95 ? 1 : 0)
            }
        let response = [
            Self("due p50", 0, \.responseFromIntendedStart?.p50Nanoseconds, time),
            Self("due max", 1, \.responseFromIntendedStart?.maxNanoseconds, time),
            Self("resp p50", 2, \.response?.p50Nanoseconds, time),
            Self("resp p99", 2, \.response?.p99Nanoseconds, time),
        ]
        let contention = [
            Self("wait p50", 9, \.wait?.p50Nanoseconds, quantile),
            Self("wait p99", 4, \.wait?.p99Nanoseconds, quantile),
            Self("wait max", 8, \.wait?.maxNanoseconds, time),
            Self("hold p50", 10, \.hold?.p50Nanoseconds, quantile),
            Self("hold p99", 11, \.hold?.p99Nanoseconds, quantile),
            Self("cont.", 7, \.contendedRatio, FigureText.percent),
            Self("hand-offs/s", 12, \.handOffsPerSecond, FigureText.count),
            Self("cpu/op", 5, { $0.cpuSecondsPerMillionOperations.map { $0 * 1_000 } }, time),
            Self("vol.sw/s", 13, \.voluntarySwitchesPerSecond, FigureText.count),
            Self("Jain", 6, \.jainIndex) { FigureText.fixed($0, 2) },
        ]
        return comparison + response + (isOpen ? [loop] : []) + contention + (isOpen ? [] : [loop])
    }
}
