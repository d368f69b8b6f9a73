internal import LatchkeyComparison

/// Which strategy is named, by a rule that is made to stay: noise makes it weaker, not different.
///
/// **The rule.** The current strategy stays, unless another one is better than it over all cases.
/// *Better* is by at least 10 %, with confidence: the 95 % interval of the ``SpeedRatio`` begins
/// there, or where the run's noise ends. A strategy that could replace the current one
/// - is at least 10 % faster over all cases;
/// - is slower in no case by more than 10 %, unless the current one collapses; a case in which the
///   interval reaches 1 is not known to be slower;
/// - breaks no limit of ``FitnessLimits``, and copies only where reads dominate.
///
/// If one of these is better with confidence, the first one in the order of ``Preference`` is named
/// that none of them is better than. So a figure decides only where it is sure, and traits decide
/// the rest: which of those that are equally good has the best figures is noise. If one that is
/// preferred may be as good, and this run does not show it, the current one stays, unless the other
/// is better in every case.
///
/// **No current strategy.** If it was not measured, or cannot be ranked, the most preferred one
/// stands in for it; one that collapses only if all do.
struct Headline {
    /// What is better by less is as good.
    static let gainMin = 1.1
    /// What is at least this part is not worse.
    static let shareMin = 0.9
    /// Room for the rounding of equal figures.
    private static let rounding = 1e-9

    /// Another strategy beside the current one.
    struct Candidate {
        var strategy: String
        /// Over the current one.
        var ratio: SpeedRatio
        /// `nil` if it can replace the current one.
        var obstacle: Obstacle?
    }

    /// Why a strategy that is faster does not replace the current one.
    struct Obstacle {
        enum Kind { case copies, limit, slower }

        var kind: Kind
        /// A clause without its subject.
        var text: String
    }

    /// Cases next to each other, in which another strategy is to be used.
    struct Flip {
        var situations: [Ranking.Situation]
        var strategy: String
        var ratio: SpeedRatio
    }

    /// What stays unless another is better.
    private(set) var current: String?
    /// Whether `current` is not the one that was asked for.
    let isStandIn: Bool
    /// `nil` if nothing is ranked.
    private(set) var strategy: String?
    /// All others that are faster than the current one with confidence, the fastest first.
    private(set) var faster: [Candidate] = []
    /// By how much a strategy has to be better.
    let gainMin: Double

    let ranking: Ranking
    private let preference: Preference
    private let cases: [Ranking.Situation: [String: ComparisonReport.Case]]
    /// Those that fall off a cliff that another one does not.
    private var collapsing: Set<String> = []
    private let copying: Set<String>

    init(_ report: ComparisonReport, _ ranking: Ranking) {
        self.ranking = ranking
        preference = Preference(report)
        gainMin = max(Self.gainMin, ranking.leastRatio) - Self.rounding
        cases = Dictionary(grouping: report.cases, by: Ranking.Situation.init).mapValues {
            Dictionary($0.map { ($0.strategy, $0) }, uniquingKeysWith: { first, _ in first })
        }
        let names = ranking.overall.map(\.strategy)
        copying = Set(names.filter { report.traits(of: $0).copiesOnWrite })
        let asked = report.settings.currentStrategy.rawValue
        isStandIn = !names.contains(asked)
        let preferred = preference.sorted(names)
        current = isStandIn ? preferred.first : asked
        for cliff in ranking.cliffs where names.contains(where: { isFarAhead($0, at: cliff) }) {
            collapsing.insert(cliff.strategy)
        }
        if isStandIn, let steady = preferred.first(where: { !collapsing.contains($0) }) {
            current = steady
        }
        guard let current else { return }
        faster = candidates(current, ranking.situations).filter { isFaster($0.ratio) }
        strategy = successor(of: current, in: ranking.situations)?.strategy ?? current
    }

    // MARK: The rule

    private func isFaster(_ ratio: SpeedRatio) -> Bool {
        ratio.value >= gainMin && ratio.low > 1
    }

    /// Whether a strategy is better for sure.
    func isBetter(_ ratio: SpeedRatio) -> Bool {
        ratio.value >= gainMin && ratio.low >= gainMin
    }

    /// Whether a strategy is so far ahead of another that this one is not to be used there.
    func isFarAhead(_ ratio: SpeedRatio) -> Bool {
        ratio.low >= max(Ranking.cliffRatio, ranking.leastRatio)
    }

    /// Whether a strategy is far ahead of the one that falls, below the cliff.
    func isFarAhead(_ strategy: String, at cliff: ComparisonReport.Cliff) -> Bool {
        let bottom = Ranking.Situation(threads: cliff.toThreads, workload: cliff.workload)
        return ratio(strategy, to: cliff.strategy, in: [bottom]).map(isFarAhead) ?? false
    }

    /// How one strategy stands to another over these cases.
    func ratio(
        _ one: String,
        to other: String,
        in situations: [Ranking.Situation]
    ) -> SpeedRatio? {
        let ratios = situations.compactMap { situation -> SpeedRatio? in
            guard let own = cases[situation]?[one], let theirs = cases[situation]?[other] else {
                return nil
            }
            return SpeedRatio(own, theirs)
        }
        return ratios.count == situations.count ? SpeedRatio(over: ratios) : nil
    }

    func ratio(_ one: String, to other: String) -> SpeedRatio? {
        ratio(one, to: other, in: ranking.situations)
    }

    /// All others in these cases, the fastest first.
    private func candidates(
        _ current: String,
        _ situations: [Ranking.Situation]
    ) -> [Candidate] {
        ranking.overall.map(\.strategy).filter { $0 != current }.compactMap { name in
            ratio(name, to: current, in: situations).map { ratio in
                // What is surely not better needs no other reason.
                Candidate(
                    strategy: name,
                    ratio: ratio,
                    obstacle: ratio.high < gainMin ? nil : obstacle(name, current, situations)
                )
            }
        }.sorted { $0.ratio.value > $1.ratio.value }
    }

    /// What is to be used in these cases instead of a strategy; `nil` if that stays.
    private func successor(
        of current: String,
        in situations: [Ranking.Situation]
    ) -> Candidate? {
        let possible = candidates(current, situations).filter {
            $0.ratio.high >= gainMin && $0.obstacle == nil
        }
        let fit = possible.filter { $0.ratio.value >= gainMin }
        guard fit.contains(where: { isBetter($0.ratio) }) else { return nil }
        func isBeaten(_ name: String) -> Bool {
            fit.contains { other in
                ratio(other.strategy, to: name, in: situations).map(isBetter) ?? false
            }
        }
        let order = preference.sorted(possible.map(\.strategy)).filter { !isBeaten($0) }
        guard let first = order.first(where: { name in fit.contains { $0.strategy == name } })
        else { return fit.first }
        // One that is preferred and may be better, too, would be named in a quieter run.
        let isSure = situations.allSatisfy { situation in
            ratio(first, to: current, in: [situation]).map(isBetter) ?? false
        }
        return first == order.first || isSure ? fit.first { $0.strategy == first } : nil
    }

    private func obstacle(
        _ name: String,
        _ current: String,
        _ situations: [Ranking.Situation]
    ) -> Obstacle? {
        let readRatio = situations.map(\.workload.readRatio).min() ?? 0
        if copying.contains(name), readRatio < FitnessLimits.readRatioMin {
            let least = FigureText.percent(FitnessLimits.readRatioMin)
            return Obstacle(
                kind: .copies,
                text: "its writers copy the value, and less than \(least) of the operations read"
            )
        }
        if let breach = breach(name, current, situations) {
            return Obstacle(kind: .limit, text: "it \(breach.text) \(breach.place)")
        }
        guard !collapsing.contains(current) else { return nil }
        let worst = situations.compactMap { situation in
            ratio(name, to: current, in: [situation]).map { (situation, $0) }
        }.filter { $0.1.high < 1 }.map { ($0.0, $0.1.value) }.min { $0.1 < $1.1 }
        guard let worst, worst.1 < Self.shareMin - Self.rounding else { return nil }
        let loss = ranking.figure.loss(1 / worst.1)
        let place = WorkloadText.difference(of: worst.0, among: ranking.situations)
        return Obstacle(kind: .slower, text: "it is \(loss) than `\(current)` \(place)")
    }

    /// The first limit that a strategy breaks in these cases.
    func breach(
        _ name: String,
        _ current: String,
        _ situations: [Ranking.Situation]
    ) -> FitnessLimits.Breach? {
        situations.lazy.compactMap { situation -> FitnessLimits.Breach? in
            guard let own = cases[situation]?[name], let usual = cases[situation]?[current] else {
                return nil
            }
            return FitnessLimits.breach(own, of: usual)
        }.first
    }

    // MARK: What else the table says

    /// Those that are as good as the strategy that is named, in the table's order.
    var asGood: [String] {
        guard let strategy else { return [] }
        return ranking.overall.map(\.strategy).filter { name in
            guard name != strategy, let ratio = ratio(name, to: strategy)?.value else {
                return false
            }
            return max(ratio, 1 / ratio) <= Self.gainMin + Self.rounding
        }
    }

    /// Where another strategy is to be used than the one that is named, in the report's order.
    var flips: [Flip] {
        guard let strategy, ranking.situations.count > 1 else { return [] }
        let workloads = ranking.situations.map(\.workload).uniqued()
        return workloads.flatMap { workload in
            let situations = ranking.situations.filter { $0.workload == workload }
                .sorted { $0.threads < $1.threads }
            var found: [Flip] = []
            var isOpen = false
            for situation in situations {
                guard let other = successor(of: strategy, in: [situation]) else {
                    isOpen = false
                    continue
                }
                if isOpen, found.last?.strategy == other.strategy {
                    found[found.count - 1].situations.append(situation)
                } else {
                    found.append(
                        Flip(
                            situations: [situation],
                            strategy: other.strategy,
                            ratio: other.ratio
                        )
                    )
                }
                isOpen = true
            }
            return found.map { flip in
                var flip = flip
                flip.ratio =
                    ratio(flip.strategy, to: strategy, in: flip.situations) ?? flip.ratio
                return flip
            }
        }
    }

    func copies(_ strategy: String) -> Bool { copying.contains(strategy) }
}
