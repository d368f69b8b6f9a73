internal import Foundation
internal import LatchkeyComparison
internal import LatchkeyStrategies

/// Which strategies are ahead of which, and which cannot be told apart.
///
/// In one case a strategy is ahead of another if its whole interval is better than the other's.
/// Over several cases its figure is the geometric mean, whose interval is that of a mean of
/// independent figures. A bistable case counts with its worse mode. A strategy with a failed
/// check, with a case missing, or that does not keep up with an open loop's rate, is not ranked.
struct Ranking {
    /// The speed of a strategy, with its interval: operations per second, or the inverse of a
    /// response, so that more is always better.
    struct Standing: Equatable {
        var strategy: String
        var speed: Double
        var low: Double
        var high: Double

        func isAhead(of other: Standing) -> Bool { low > other.high }
    }

    /// What stays the same while strategies are compared.
    struct Situation: Hashable {
        var threads: Int
        var workload: ComparisonReport.Workload

        init(_ entry: ComparisonReport.Case) {
            (threads, workload) = (entry.threads, entry.workload)
        }
    }

    let figure: RankedFigure
    /// In the order of the report.
    let situations: [Situation]
    /// For each situation, the best first.
    let standings: [Situation: [Standing]]
    /// Over all situations, the best first.
    let overall: [Standing]
    /// Measured but not ranked, with the reason.
    let excluded: [(strategy: String, reason: String)]
    /// The order in which strategies stand everywhere: the best first, then what is not ranked,
    /// then the baselines; if ranking is refused, the order on the command line.
    let order: [String]
    private let isRefused: Bool

    init(_ report: ComparisonReport) {
        // One run has one kind of arrival.
        figure = RankedFigure(report.cases.first?.workload)
        var reasons: [String: String] = [:]
        for entry in report.cases where !RankedFigure.keepsUp(entry) {
            let place = WorkloadText.threads(entry.threads, entry.workload)
            reasons[entry.strategy] = "did not keep up with the rate \(place)"
        }
        for verdict in report.verdicts.reversed() where verdict.outcome == .failed {
            reasons[verdict.strategy] = "failed the check '\(verdict.check.rawValue)'"
        }
        let failed = Set(report.verdicts.filter { $0.outcome == .failed }.map(\.strategy))
        let ranked = report.cases.filter {
            RankedFigure.keepsUp($0) && !failed.contains($0.strategy)
        }.compactMap { entry in Standing(entry).map { (Situation(entry), $0) } }
        situations = ranked.map(\.0).uniqued()
        standings = Dictionary(grouping: ranked, by: \.0).mapValues { group in
            group.map(\.1).sorted { $0.speed > $1.speed }
        }
        let measured = report.cases.map(\.strategy).uniqued()
        let count = situations.count
        let own = Dictionary(grouping: ranked.map(\.1), by: \.strategy)
            .filter { reasons[$0.key] == nil && $0.value.count == count }
        overall = measured.compactMap { name in own[name].map { Standing(name, over: $0) } }
            .sorted { $0.speed > $1.speed }
        excluded = measured.filter { own[$0] == nil }.map { name in
            (name, reasons[name] ?? "was not measured in every case")
        }
        isRefused = report.conditions.ranking == .refused
        order =
            ((isRefused ? [] : overall.map(\.strategy))
            + report.settings.strategies.map(\.rawValue) + report.baselines.map(\.strategy))
            .uniqued()
    }

    /// Those that nobody is ahead of, in the order given.
    ///
    /// The best median may have a wide interval, and fewer strategies may be behind it than behind
    /// a narrower one after it.
    static func leaders(_ standings: [Standing]) -> [Standing] {
        standings.filter { standing in !standings.contains { $0.isAhead(of: standing) } }
    }

    /// Whether no strategy is ahead of this one in its case.
    func isBest(_ entry: ComparisonReport.Case) -> Bool {
        let leaders = Self.leaders(standings[Situation(entry)] ?? [])
        return !isRefused && leaders.contains { $0.strategy == entry.strategy }
    }

    /// By which share the figure of the better one is more, or in an open loop less.
    func lead(_ better: Double, over other: Double) -> String {
        FigureText.percent(figure == .throughput ? better / other - 1 : 1 - other / better)
    }
}

extension Ranking.Standing {
    /// `nil` if nothing was completed.
    init?(_ entry: ComparisonReport.Case) {
        let figure = RankedFigure(entry.workload)
        guard let spread = figure.spread(entry), spread.median > 0 else { return nil }
        let mode = figure.worseMode(entry)
        self.init(
            strategy: entry.strategy,
            speed: mode?.value ?? spread.median,
            low: mode?.low ?? max(spread.intervalLow, .leastNormalMagnitude),
            high: mode?.high ?? spread.intervalHigh
        )
        if figure == .responseP99 { (speed, low, high) = (1 / speed, 1 / high, 1 / low) }
    }

    /// The geometric mean.
    fileprivate init(_ strategy: String, over standings: [Ranking.Standing]) {
        let count = Double(standings.count)
        func mean(_ term: (Ranking.Standing) -> Double) -> Double {
            standings.map(term).reduce(0, +) / count
        }
        let center = mean { log($0.speed) }
        let below = mean { pow(log($0.speed / $0.low), 2) }
        let above = mean { pow(log($0.high / $0.speed), 2) }
        self.init(
            strategy: strategy,
            speed: exp(center),
            low: exp(center - (below / count).squareRoot()),
            high: exp(center + (above / count).squareRoot())
        )
    }
}

extension ComparisonReport.Case {
    /// Whether a thread has several operations of its own in progress, and waits behind them.
    ///
    /// Its waits and its contention then say how it was driven, and cannot be compared with those
    /// of a strategy whose threads have one operation each.
    var waitsForItself: Bool {
        let kind = workload.threadMode == nil ? StrategyKind(rawValue: strategy) : nil
        return kind?.traits.appliesWritesAsynchronously ?? isAsynchronous ?? false
    }

    static let waitsForItselfNote =
        "* has up to 16 operations of a thread in progress, which wait for each other: its wait "
        + "and contention cannot be compared with the others'."
}
