internal import LatchkeyComparison

/// Which strategy is named, by a rule that is made to stay: noise makes it weaker, not different.
///
/// **The rule.** The current strategy stays, unless another one is better than it over all cases.
/// *Better* is by at least 10 %, with confidence: the 95 % interval of the ``SpeedRatio`` begins
/// there, or where the run's noise ends. A strategy that could replace the current one
/// - may be better over all cases: the interval reaches that far;
/// - leaves no case in which the current one is faster by at least 10 %, and surely faster; this
///   does not count if the current one collapses somewhere;
/// - breaks no limit of ``FitnessLimits``, and copies only where reads dominate.
///
/// Of those that none of them is better than, the first one in the order of ``Preference`` is named
/// if it is better than the current one. If it only may be, nothing is decided, and the current one
/// stays. So a figure decides only where it is sure, and traits decide the rest: which of those
/// that are equally good has the best figures is noise.
///
/// **No current strategy.** If it was not measured, or cannot be ranked, the most preferred one
/// stands in for it; one that collapses, or copies where writes are frequent, only if all do.
struct Headline {
    /// What is better by less does not count.
    static let gainMin = 1.1
    /// Room for the rounding of equal figures.
    static let rounding = 1e-9

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
        enum Kind {
            case copies, limit, slower
            /// A limit, on a machine that is too busy to say whose fault it is.
            case undecided
        }

        var kind: Kind
        /// A clause without its subject.
        var text: String
    }

    /// Cases next to each other, in which another strategy is to be used.
    struct Flip {
        var situations: [Ranking.Situation]
        /// `nil` if others are better, and it is not decided which.
        var strategy: String?
        var gain: Double
    }

    /// What follows from the rule.
    enum Decision: Equatable {
        case stays, undecided
        case use(String)
    }

    /// What stays unless another is better.
    private(set) var current: String?
    /// Whether `current` is not the one that was asked for.
    let isStandIn: Bool
    /// `nil` if nothing is ranked.
    private(set) var strategy: String?
    /// Whether others are better than the current one, and it is not decided which.
    private(set) var isUndecided = false
    /// All others that are faster than the current one with confidence, the fastest first.
    private(set) var faster: [Candidate] = []
    /// By how much a strategy has to be better.
    let gainMin: Double

    let ranking: Ranking
    private let preference: Preference
    private let cases: [Ranking.Situation: [String: ComparisonReport.Case]]
    /// Those that fall off a cliff that another one does not.
    private(set) var collapsing: Set<String> = []
    let copying: Set<String>

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
        for cliff in ranking.cliffs where names.contains(where: { isFarAhead($0, at: cliff) }) {
            collapsing.insert(cliff.strategy)
        }
        current = isStandIn ? standIn(for: names) : asked
        guard let current else { return }
        faster = candidates(current, ranking.situations).filter { isFaster($0.ratio) }
        let decision = self.decision(current, in: ranking.situations)
        isUndecided = decision == .undecided
        if case .use(let better) = decision { strategy = better } else { strategy = current }
    }

    private func standIn(for names: [String]) -> String? {
        let preferred = preference.sorted(names)
        let steady = preferred.filter { !collapsing.contains($0) }
        return steady.first { !copiesTooMuch($0, ranking.situations) } ?? steady.first
            ?? preferred.first
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

    func entry(_ name: String, in situation: Ranking.Situation) -> ComparisonReport.Case? {
        cases[situation]?[name]
    }

    /// How one strategy stands to another over these cases.
    func ratio(
        _ one: String,
        to other: String,
        in situations: [Ranking.Situation]
    ) -> SpeedRatio? {
        let ratios = situations.compactMap { situation -> SpeedRatio? in
            guard let own = entry(one, in: situation), let theirs = entry(other, in: situation)
            else { return nil }
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

    /// What is to be used in these cases instead of a strategy.
    func decision(_ current: String, in situations: [Ranking.Situation]) -> Decision {
        let possible = candidates(current, situations).filter {
            $0.ratio.high >= gainMin && $0.obstacle == nil
        }
        let better = possible.filter { isBetter($0.ratio) }.map(\.strategy)
        guard !better.isEmpty else { return .stays }
        func isBeaten(_ name: String) -> Bool {
            better.contains { ratio($0, to: name, in: situations).map(isBetter) ?? false }
        }
        let order = preference.sorted(possible.map(\.strategy)).filter { !isBeaten($0) }
        guard let first = order.first, better.contains(first) else { return .undecided }
        return .use(first)
    }

    func copiesTooMuch(_ name: String, _ situations: [Ranking.Situation]) -> Bool {
        let readRatio = situations.map(\.workload.readRatio).min() ?? 0
        return copying.contains(name) && readRatio < FitnessLimits.readRatioMin
    }

    /// Why a strategy could not be named, however fast it is; `nil` if it could.
    func obstacle(_ name: String) -> Obstacle? {
        current.flatMap { obstacle(name, $0, ranking.situations) }
    }

    private func obstacle(
        _ name: String,
        _ current: String,
        _ situations: [Ranking.Situation]
    ) -> Obstacle? {
        if copiesTooMuch(name, situations) {
            let least = FigureText.percent(FitnessLimits.readRatioMin)
            return Obstacle(
                kind: .copies,
                text: "its writers copy the value, and fewer than \(least) of the operations "
                    + "are reads"
            )
        }
        if let breach = breach(name, in: situations) {
            let text = "it \(breach.text) \(breach.place)"
            return judgesLimits
                ? Obstacle(kind: .limit, text: text)
                : Obstacle(kind: .undecided, text: text + ", perhaps because the machine is busy")
        }
        guard !collapsing.contains(current) else { return nil }
        let slower = situations.compactMap { situation in
            ratio(current, to: name, in: [situation]).map { (situation, $0) }
        }.filter { $0.1.low > 1 && $0.1.value >= Self.gainMin - Self.rounding }
        guard let worst = slower.max(by: { $0.1.value < $1.1.value }) else { return nil }
        let place = WorkloadText.difference(of: worst.0, among: ranking.situations)
        let gain = ranking.figure.gain(worst.1.value)
        return Obstacle(kind: .slower, text: "`\(current)` is better \(place) (\(gain))")
    }

    /// Whether waits and shares are the strategies' own: on a busy machine, they are those of the
    /// other processes, too.
    var judgesLimits: Bool { ranking.leastRatio < Self.gainMin }

    /// The first limit that a strategy breaks in these cases.
    func breach(
        _ name: String,
        in situations: [Ranking.Situation]
    ) -> FitnessLimits.Breach? {
        guard let current else { return nil }
        return situations.lazy.compactMap { situation -> FitnessLimits.Breach? in
            guard let own = entry(name, in: situation), let usual = entry(current, in: situation)
            else { return nil }
            return FitnessLimits.breach(own, of: usual).map { text in
                let place = WorkloadText.difference(of: situation, among: ranking.situations)
                return FitnessLimits.Breach(text: text, place: place)
            }
        }.first
    }
}
