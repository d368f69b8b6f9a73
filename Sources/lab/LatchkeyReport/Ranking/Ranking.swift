internal import Foundation
internal import LatchkeyComparison
internal import LatchkeyStrategies

/// Which strategies of a report are ahead of which, by the order of ``Standing``.
///
/// A strategy with a failed check, with a case missing, or that does not keep up with an open
/// loop's rate, is not ranked.
struct Ranking {
    /// What stays the same while strategies are compared.
    struct Situation: Hashable {
        var threads: Int
        var workload: ComparisonReport.Workload

        init(_ entry: ComparisonReport.Case) {
            (threads, workload) = (entry.threads, entry.workload)
        }

        init(threads: Int, workload: ComparisonReport.Workload) {
            (self.threads, self.workload) = (threads, workload)
        }
    }

    let figure: RankedFigure
    /// The factor by which a strategy has to be ahead, because of the run's noise.
    let leastRatio: Double
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
    let isRefused: Bool

    init(_ report: ComparisonReport) {
        // One run has one kind of arrival.
        figure = RankedFigure(report.cases.first?.workload)
        leastRatio = max(1, report.conditions.leastRatio)
        var reasons: [String: String] = [:]
        for entry in report.cases where !RankedFigure.keepsUp(entry) {
            let place = WorkloadText.threads(entry.threads, entry.workload)
            reasons[entry.strategy] = "did not keep up with the rate \(place)"
        }
        for verdict in report.verdicts.reversed() where verdict.outcome == .failed {
            reasons[verdict.strategy] =
                verdict.isHang ? "did not return" : "failed the check '\(verdict.check.rawValue)'"
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

    /// Whether a difference between two strategies can be claimed.
    func isAhead(_ one: Standing, of other: Standing) -> Bool {
        one.isAhead(of: other, by: leastRatio)
    }

    /// Those that no other one is ahead of, in the order given.
    ///
    /// The best median may have a wide interval, and fewer strategies may be behind it than behind
    /// a narrower one after it.
    func leaders(_ standings: [Standing]) -> [Standing] {
        standings.filter { standing in
            !standings.contains { isAhead($0, of: standing) }
        }
    }

    func standing(_ strategy: String, in situation: Situation) -> Standing? {
        standings[situation]?.first { $0.strategy == strategy }
    }

    /// Whether no strategy is ahead of this one in its case.
    func isBest(_ entry: ComparisonReport.Case) -> Bool {
        let leaders = leaders(standings[Situation(entry)] ?? [])
        return !isRefused && leaders.contains { $0.strategy == entry.strategy }
    }

    /// The speed of a case in percent of the best of its situation; `nil` if it is not ranked.
    func shareOfBest(_ entry: ComparisonReport.Case) -> Double? {
        let situation = Situation(entry)
        guard !isRefused, let best = standings[situation]?.first,
            let own = standing(entry.strategy, in: situation)
        else { return nil }
        return own.speed / best.speed
    }

    /// The names of the best three over all situations.
    var bestThree: [String] { overall.prefix(3).map(\.strategy) }
}

extension ComparisonReport.Case {
    /// Whether a thread has several operations of its own in progress, and waits behind them.
    ///
    /// Its waits and its contention then say how it was driven, and cannot be compared with those
    /// of a strategy whose threads have one operation each.
    var waitsForItself: Bool {
        let kind = workload.transport == nil ? StrategyKind(rawValue: strategy) : nil
        return kind?.traits.appliesWritesAsynchronously ?? isAsynchronous ?? false
    }

    static let waitsForItselfNote =
        "* has up to 16 operations of a thread in progress, which wait for each other: its wait "
        + "and contention cannot be compared with the others'."
}
