internal import LatchkeyComparison
internal import LatchkeyVerdict

/// The verdict on a report, with the data that tables need.
struct Ranking {
    let verdict: Verdict
    let isRefused: Bool
    /// The order in which strategies stand everywhere: the best first, then the unranked, then the
    /// baselines; if ranking is refused, the order on the command line.
    let order: [String]
    private let situations: [VerdictTable.Situation]

    init(_ report: ComparisonReport) {
        let (table, situations) = VerdictTable.of(report)
        self.situations = situations
        verdict = Verdict(table, current: report.settings.currentStrategy.rawValue)
        isRefused = report.conditions.ranking == .refused
        order =
            ((isRefused ? [] : verdict.ranked) + report.settings.strategies.map(\.rawValue)
            + report.baselines.map(\.strategy)).uniqued()
    }

    var figure: RankedFigure { verdict.table.figure }

    /// The names of the best three over all cases.
    var bestThree: [String] { Array(verdict.ranked.prefix(3)) }

    private func place(_ entry: ComparisonReport.Case) -> Int? {
        let isRanked = verdict.table.strategies.contains {
            $0.name == entry.strategy && $0.exclusion == nil
        }
        return isRanked && !isRefused
            ? situations.firstIndex(of: VerdictTable.Situation(entry)) : nil
    }

    /// Whether no strategy is surely better than this one in its case.
    func isBest(_ entry: ComparisonReport.Case) -> Bool {
        place(entry).map { verdict.isBest(entry.strategy, in: $0) } ?? false
    }

    /// The speed of a case in percent of the best of its situation; `nil` if it is not ranked.
    func shareOfBest(_ entry: ComparisonReport.Case) -> Double? {
        guard let place = place(entry),
            let own = verdict.table.figures[entry.strategy]?[place]?.speed
        else { return nil }
        let speeds = verdict.table.strategies.filter { $0.exclusion == nil }
            .compactMap { verdict.table.figures[$0.name]?[place]?.speed }
        return speeds.max().map { own / $0 }
    }

    // MARK: Where the order changes

    /// The places where one strategy overtakes another, over the threads and over the share of
    /// reads.
    ///
    /// An open loop has none: its rate is given. None are reported where ranking is refused.
    var crossovers: [ComparisonReport.Crossover] {
        guard !isRefused, figure == .throughput else { return [] }
        return crossings(.threads) {
            Double($0.threads)
        } without: {
            $0.threads = 0
        }
            + crossings(.readRatio) {
                $0.workload.readRatio
            } without: {
                $0.workload.readRatio = 0
            }
    }

    private func crossings(
        _ axis: ComparisonReport.Crossover.Axis,
        _ value: (VerdictTable.Situation) -> Double,
        without change: (inout VerdictTable.Situation) -> Void
    ) -> [ComparisonReport.Crossover] {
        func rest(_ situation: VerdictTable.Situation) -> VerdictTable.Situation {
            var rest = situation
            change(&rest)
            return rest
        }
        return situations.map(rest).uniqued().flatMap { common in
            let line = situations.indices.filter { rest(situations[$0]) == common }
                .sorted { value(situations[$0]) < value(situations[$1]) }
            return verdict.crossings(along: line).map { crossing in
                ComparisonReport.Crossover(
                    axis: axis,
                    workload: situations[crossing.from].workload,
                    threads: axis == .threads ? nil : common.threads,
                    from: value(situations[crossing.from]),
                    to: value(situations[crossing.to]),
                    fasterBelow: crossing.fasterBelow,
                    fasterAbove: crossing.fasterAbove
                )
            }
        }
    }

    /// The cliffs, the deepest first.
    var cliffs: [ComparisonReport.Cliff] {
        guard !isRefused else { return [] }
        return verdict.cliffs.map { cliff in
            ComparisonReport.Cliff(
                strategy: cliff.strategy,
                workload: situations[cliff.from].workload,
                threads: (situations[cliff.from].threads, situations[cliff.to].threads),
                operationsPerSecond: (cliff.fromSpeed, cliff.toSpeed)
            )
        }
    }
}
