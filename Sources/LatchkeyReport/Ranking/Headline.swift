internal import LatchkeyComparison

/// The one strategy that is recommended, and why it and no other.
///
/// It is one of those that nobody is ahead of. A strategy that starves threads is passed over, and
/// so is one with two modes whose slowest repeat is behind that of a steady strategy. What is tied
/// after that is decided by what costs least elsewhere: fairness, p99 and longest wait, processor
/// time, in this order. Each counts in the strategy's worst case.
struct Headline {
    /// Below this, threads starve.
    static let jainIndexMin = 0.8
    /// A p99 wait of this many times the best of those tied is starvation, too.
    static let waitRatioMax = 10.0

    struct PassedOver {
        var standing: Standing
        /// What follows `because`.
        var reason: String
    }

    /// `nil` if every ranked strategy is passed over, or none is ranked.
    private(set) var strategy: String?
    /// Those between which and the strategy no difference was found, the best first.
    private(set) var tied: [Standing] = []
    private(set) var passedOver: [PassedOver] = []
    /// What decided between those tied, in words: `the fairest (Jain's index 0.97)`.
    private(set) var reasons: [String] = []

    private let ranking: Ranking
    private let costs: [String: Costs]

    init(_ report: ComparisonReport, _ ranking: Ranking) {
        self.ranking = ranking
        costs = Dictionary(
            uniqueKeysWithValues: ranking.overall.map { ($0.strategy, Costs(report, $0.strategy)) }
        )
        var left = ranking.overall
        while true {
            tied = ranking.leaders(left)
            let unfit = unfit(tied)
            guard !unfit.isEmpty else { break }
            passedOver += unfit
            left.removeAll(where: unfit.map(\.standing).contains)
        }
        // What is behind but for the run's noise is not preferred for being cheaper.
        let candidates = tied.filter { standing in
            !tied.contains { $0.isAhead(of: standing) }
        }
        strategy = cheapest(candidates)
    }

    /// Those that are passed over, with the reason; the unfair ones first, since their waits are
    /// short at the expense of the others'.
    private func unfit(_ tied: [Standing]) -> [PassedOver] {
        for rule in [unfair, slowest, unsteady] {
            let found = tied.compactMap { standing in
                rule(standing, tied).map { PassedOver(standing: standing, reason: $0) }
            }
            if !found.isEmpty { return found }
        }
        return []
    }

    private func unfair(_ standing: Standing, _ tied: [Standing]) -> String? {
        guard let jain = costs[standing.strategy]?.jainIndex, jain.value < Self.jainIndexMin else {
            return nil
        }
        let index = FigureText.fixed(jain.value, 2)
        return "it starves threads: Jain's index is \(index) \(jain.place)"
    }

    private func slowest(_ standing: Standing, _ tied: [Standing]) -> String? {
        let waits = tied.compactMap { costs[$0.strategy]?.waitP99?.value }
        guard let wait = costs[standing.strategy]?.waitP99, let best = waits.min(),
            wait.value >= Self.waitRatioMax * best
        else { return nil }
        let own = FigureText.quantile(nanoseconds: wait.value)
        return "its threads wait long: the p99 is \(own) \(wait.place), and the best of those tied "
            + "has \(FigureText.quantile(nanoseconds: best)) in its worst case"
    }

    private func unsteady(_ standing: Standing, _ tied: [Standing]) -> String? {
        let steady = tied.first { !$0.isBistable && $0.least > standing.least }
        guard standing.isBistable, let steady else { return nil }
        return "it has two modes, and its slowest repeats are behind `\(steady.strategy)`"
    }

    // MARK: What costs least elsewhere

    /// A cost, and how much more of it is as good as the least.
    private struct Criterion {
        var name: String
        /// What the figure is, before it.
        var noun = ""
        var cost: (Costs) -> Double?
        var tolerance: Double
        var text: (Double) -> String
    }

    private static var criteria: [Criterion] {
        [
            // As unfairness, so that less is better; 0.05 more of Jain's index is a difference.
            Criterion(
                name: "the fairest",
                noun: "Jain's index ",
                cost: { $0.jainIndex.map { 1 / max($0.value, 1e-9) } },
                tolerance: 1.05,
                text: { FigureText.fixed(1 / $0, 2) }
            ),
            // Quantiles come from buckets that double.
            Criterion(
                name: "the one with the shortest p99 wait",
                cost: { $0.waitP99?.value },
                tolerance: 2,
                text: FigureText.quantile
            ),
            Criterion(
                name: "the one with the shortest longest wait",
                cost: { $0.waitMax?.value },
                tolerance: 2,
                text: FigureText.duration
            ),
            Criterion(
                name: "the one that takes the least processor time",
                cost: { $0.processorNanoseconds?.value },
                tolerance: 1.1,
                text: { FigureText.duration(nanoseconds: $0) + " per operation" }
            ),
        ]
    }

    /// The one that is left when those are dropped, criterion by criterion, that cost more; if
    /// several are left, the one whose interval begins highest.
    private mutating func cheapest(_ candidates: [Standing]) -> String? {
        var left = candidates.sorted { $0.low > $1.low }.map(\.strategy)
        for criterion in Self.criteria where left.count > 1 {
            func cost(_ name: String) -> Double? { costs[name].flatMap(criterion.cost) }
            guard let least = left.compactMap(cost).min() else { continue }
            let dropped = left.filter { name in
                cost(name).map { $0 > criterion.tolerance * least } ?? false
            }
            guard let nearest = dropped.compactMap(cost).min(),
                let rival = dropped.first(where: { cost($0) == nearest })
            else { continue }
            left.removeAll(where: dropped.contains)
            reasons.append(
                "\(criterion.name) (\(criterion.noun)\(criterion.text(least)), `\(rival)` "
                    + "\(criterion.text(nearest)))"
            )
        }
        return left.first
    }
}

/// What a strategy costs besides speed, each figure in the case in which it is worst.
private struct Costs {
    struct Worst {
        var value: Double
        /// Such as `on 8 threads`.
        var place: String
    }

    var jainIndex: Worst?
    var waitP99: Worst?
    var waitMax: Worst?
    var processorNanoseconds: Worst?

    init(_ report: ComparisonReport, _ strategy: String) {
        let cases = report.cases.filter { $0.strategy == strategy }
        func worst(
            _ figure: (ComparisonReport.Case) -> Double?,
            isWorse: (Double, Double) -> Bool
        ) -> Worst? {
            let figures = cases.compactMap { entry in
                figure(entry).map { value in
                    let place = WorkloadText.threads(entry.threads, entry.workload)
                    return Worst(value: value, place: place)
                }
            }
            return figures.max { isWorse($1.value, $0.value) }
        }
        jainIndex = worst(\.summary.jainIndex, isWorse: <)
        // What is shorter than the first bucket is not known, and no shorter than another such.
        waitP99 = worst(
            { entry in
                entry.waitsForItself
                    ? nil
                    : entry.summary.wait.map { wait in
                        max(wait.p99Nanoseconds, FigureText.quantileNanosecondsMin)
                    }
            },
            isWorse: >
        )
        waitMax = worst(
            { $0.waitsForItself ? nil : $0.summary.wait?.maxNanoseconds },
            isWorse: >
        )
        processorNanoseconds = worst(
            { $0.summary.cpuSecondsPerMillionOperations.map { $0 * 1_000 } },
            isWorse: >
        )
    }
}
