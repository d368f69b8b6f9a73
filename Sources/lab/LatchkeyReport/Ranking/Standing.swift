internal import Foundation
internal import LatchkeyComparison

/// The speed of a strategy in one case, or over several, and the order of strategies.
///
/// This is the one definition of the order. Tables, leaders and crossovers follow it; which
/// strategy is recommended follows ``Headline``.
///
/// - **Speed** is the median of the rounds, or without them of the repeats: operations per second,
///   or in an open loop one over the p99 of the response. The best speed stands first.
/// - **Interval**: the 95 % bootstrap interval of that median. With two modes it begins at the
///   slowest repeat; one slow repeat of five or more is left out of its lower end.
/// - **Ahead**: a strategy is ahead of another if the low end of its interval is above the high end
///   of the other's, by more than the factor that the run's noise allows. In one case, where one of
///   them has rounds, their ``SpeedRatio`` says it instead: it compares rounds with rounds, or else
///   repeats with repeats.
/// - **Several cases**: speeds are geometric means; the distances to the ends are independent, so
///   their squares are added.
///
/// **Laws**, where no rounds decide. If every repeat of A is faster than every repeat of B in all
/// cases, A stands before B, B is not ahead of A, and B is among the best only if A is. If A is no
/// slower than B in any quantile of as many repeats, B is not ahead of A either. Both hold because
/// the speed and the high end never fall when a repeat gets faster, and the low end never leaves
/// the repeats.
struct Standing: Equatable {
    var strategy: String
    var speed: Double
    var low: Double
    var high: Double
    /// Nil over several.
    var entry: ComparisonReport.Case?

    /// Whether the strategy is faster than the other one with confidence, by more than a factor.
    func isAhead(of other: Standing, by leastRatio: Double = 1) -> Bool {
        if let entry, let others = other.entry, entry.rounds != nil || others.rounds != nil,
            Ranking.Situation(entry) == Ranking.Situation(others),
            let ratio = SpeedRatio(entry, others)
        {
            return ratio.low > leastRatio
        }
        return low > other.high * leastRatio
    }

    /// The median of the repeats, also where rounds decide the speed.
    var repeatsSpeed: Double {
        guard let entry, entry.rounds != nil else { return speed }
        let speeds = entry.counted.compactMap(RankedFigure(entry.workload).speed)
        return speeds.isEmpty ? speed : Statistics.median(speeds)
    }
}

extension Standing {
    /// `nil` if nothing was completed.
    init?(_ entry: ComparisonReport.Case) {
        let figure = RankedFigure(entry.workload)
        guard let spread = figure.speeds(entry), spread.median > 0 else { return nil }
        self.init(
            strategy: entry.strategy,
            speed: spread.median,
            low: max(spread.intervalLow, .leastNormalMagnitude),
            high: spread.intervalHigh,
            entry: entry
        )
    }

    /// The geometric mean.
    init(_ strategy: String, over standings: [Standing]) {
        let count = Double(standings.count)
        func mean(_ term: (Standing) -> Double) -> Double {
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
