internal import Foundation
internal import LatchkeyComparison
internal import LatchkeySync

/// Which strategies are ahead of which, and which cannot be told apart.
///
/// In one case a strategy is ahead of another if its whole interval is better than the other's.
/// Over several cases its figure is the geometric mean, whose interval is that of a mean of
/// independent figures. A bistable case counts with its worse mode. A strategy with a failed
/// verdict, with a case missing, or that does not keep up with an open loop's rate, is not ranked.
struct Ranking {
    /// A strategy's figure, with its interval.
    struct Standing: Equatable {
        var strategy: String
        var figure = RankedFigure.throughput
        var value: Double
        var low: Double
        var high: Double

        func isAhead(of other: Standing) -> Bool {
            figure == .throughput ? low > other.high : high < other.low
        }
    }

    /// What stays the same while strategies are compared.
    struct Situation: Hashable {
        var threads: Int
        var workload: ComparisonReport.Workload
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

    init(_ report: ComparisonReport) {
        let figure = RankedFigure(report)
        self.figure = figure
        let failed = Dictionary(
            report.verdicts.filter { $0.outcome == .failed }.map { ($0.strategy, $0.check) },
            uniquingKeysWith: { first, _ in first }
        )
        var situations: [Situation] = []
        var standings: [Situation: [Standing]] = [:]
        var late: [String: String] = [:]
        for entry in report.cases where failed[entry.strategy] == nil {
            guard RankedFigure.keepsUp(entry) else {
                late[entry.strategy] = WorkloadText.threads(entry.threads, entry.workload)
                continue
            }
            guard let standing = Standing(entry, figure) else { continue }
            let situation = Situation(threads: entry.threads, workload: entry.workload)
            if standings[situation] == nil { situations.append(situation) }
            standings[situation, default: []].append(standing)
        }
        self.situations = situations
        self.standings = standings.mapValues { standings in
            standings.sorted { figure.isBetter($0.value, than: $1.value) }
        }
        let measured = report.cases.map(\.strategy).uniqued()
        let complete = measured.filter { name in
            failed[name] == nil && late[name] == nil
                && standings.values.allSatisfy { $0.contains { $0.strategy == name } }
        }
        overall = complete.map { name in
            let own = standings.values.flatMap { $0.filter { $0.strategy == name } }
            return Standing(name, figure, over: own)
        }.sorted { figure.isBetter($0.value, than: $1.value) }
        excluded = measured.filter { !complete.contains($0) }.map { name in
            let failure = failed[name].map { "failed the check '\($0.rawValue)'" }
            let lateness = late[name].map { "did not keep up with the rate \($0)" }
            return (name, failure ?? lateness ?? "is not complete")
        }
    }

    /// Those that nobody is ahead of, in the order given.
    ///
    /// The best value may have a wide interval, and be told from fewer than a narrower one after
    /// it.
    static func leaders(_ standings: [Standing]) -> [Standing] {
        standings.filter { standing in !standings.contains { $0.isAhead(of: standing) } }
    }
}

extension Ranking.Standing {
    /// `nil` if nothing was completed.
    init?(_ entry: ComparisonReport.Case, _ figure: RankedFigure) {
        guard let spread = figure.spread(entry), spread.median > 0 else { return nil }
        let mode = figure.worseMode(entry)
        self.init(
            strategy: entry.strategy,
            figure: figure,
            value: mode?.value ?? spread.median,
            low: mode?.low ?? max(spread.intervalLow, .leastNormalMagnitude),
            high: mode?.high ?? spread.intervalHigh
        )
    }

    /// The geometric mean.
    fileprivate init(
        _ strategy: String,
        _ figure: RankedFigure,
        over standings: [Ranking.Standing]
    ) {
        let count = Double(max(1, standings.count))
        func mean(_ term: (Ranking.Standing) -> Double) -> Double {
            standings.map(term).reduce(0, +) / count
        }
        let center = mean { log($0.value) }
        let below = mean { pow(log($0.value / $0.low), 2) }
        let above = mean { pow(log($0.high / $0.value), 2) }
        self.init(
            strategy: strategy,
            figure: figure,
            value: exp(center),
            low: exp(center - (below / count).squareRoot()),
            high: exp(center + (above / count).squareRoot())
        )
    }
}

/// The order in which strategies stand everywhere in a report: the best first, then what is not
/// ranked, then the baselines.
///
/// Where ranking is refused, the order they were named in.
enum StrategyOrder {
    static func names(_ report: ComparisonReport) -> [String] {
        let isRanked = report.conditions.ranking != .refused
        let ranked = isRanked ? Ranking(report).overall.map(\.strategy) : []
        let named = report.settings.strategies.map(\.rawValue)
        return (ranked + named + report.baselines.map(\.strategy)).uniqued()
    }
}
