internal import Foundation
internal import LatchkeyComparison

/// How many times as fast one strategy is as another, with a 95 % interval.
///
/// In one case the **rounds** decide, if both strategies have them: short slices with one number
/// were taken within a fraction of a second, so that what disturbs both cancels in their ratio.
/// Where both figures are of the usual mode of the processors, the rounds in that mode count only.
/// The interval is that of the ``ClusteredMedian`` of these ratios. The value is the ratio of the
/// figures in the table, or where that is outside the interval, its end. Slices during or between
/// which the distance of the processors changed do not count.
///
/// Else the **repeats** of both decide, also of one that has rounds: short slices say something
/// else than long ones. The value is the ratio of the medians of the repeats, or if one has rounds,
/// of the figures in the table, moved as above. There are two ways to the interval, and the
/// narrower one is taken:
/// - **within the repeats**: repeats with one index were taken next to each other, so that what
///   disturbs both cancels in their ratio. The interval is that of the median of these ratios. Of
///   five it is their range. It holds the value, too. Where the processors were near each other in
///   one of a pair and far apart in the other, the pair does not count, as long as enough others
///   do;
/// - **of the medians**: the two intervals of the medians, as independent. Not if one of the two
///   has rounds.
///
/// In a simulation of runs with five repeats, the narrower one held the true ratio in 93 % of them,
/// whatever part of the noise both shared; with three repeats in 73 %.
///
/// If the ratios have two modes, their interval is their range. One of five or more that is far
/// from all others is left out, at either end; not if it comes from the one fast repeat of a
/// strategy that collapses in the others.
///
/// **Law.** The ratio of B to A is the inverse of that of A to B, with its interval.
///
/// Over several cases, it is the geometric mean; the distances to the ends are independent.
struct SpeedRatio: Equatable {
    var value: Double
    var low: Double
    var high: Double

    /// Ratios are compared with a repeat that did nothing, whose stand-in is not far from 1.
    private static let scale = 1e9

    init(value: Double, low: Double, high: Double) {
        (self.value, self.low, self.high) = (value, low, high)
    }

    /// In one case; `nil` if one of the two has no speed.
    init?(_ one: ComparisonReport.Case, _ other: ComparisonReport.Case) {
        guard let own = Standing(one), let others = Standing(other) else { return nil }
        let figure = RankedFigure(one.workload)
        let pairs = figure.pairedSpeeds(one, other)
        let paired = Self(pairs: pairs, value: own.repeatsSpeed / others.repeatsSpeed)
        let isShort = figure == .throughput && (one.rounds != nil || other.rounds != nil)
        if isShort, let ratio = Self(rounds: one, other) ?? paired {
            self = ratio
            value = min(max(own.speed / others.speed, low), high)
            return
        }
        let independent = Self(own, others)
        self = paired.flatMap { $0.width < independent.width ? $0 : nil } ?? independent
    }

    /// `nil` unless both have rounds, and enough with one distance of the processors.
    ///
    /// Where both figures are of one mode of the processors, the ratio is, too: locks are not as
    /// far from each other in the other one.
    private init?(
        rounds one: ComparisonReport.Case,
        _ other: ComparisonReport.Case
    ) {
        guard let own = one.rounds, let others = other.rounds else { return nil }
        let usual = one.usual(with: other)
        let ratios = own.ratioLogarithms(to: others)
            .filter { usual == nil || $0.processors == usual }
        guard ratios.count >= ComparisonReport.Rounds.countedMin else { return nil }
        let interval = ClusteredMedian.interval(
            ComparisonReport.Rounds.clusters(ratios.map { ($0.round, $0.logarithm) })
        )
        (low, high) = (exp(interval.low), exp(interval.high))
        value = (low * high).squareRoot()
    }

    /// Of medians whose errors are independent.
    private init(_ one: Standing, _ other: Standing) {
        value = one.speed / other.speed
        let below = hypot(log(one.speed / one.low), log(other.high / other.speed))
        let above = hypot(log(one.high / one.speed), log(other.speed / other.low))
        (low, high) = (value * exp(-below), value * exp(above))
    }

    /// `nil` for fewer pairs than can be ranked.
    private init?(pairs: [(Double, Double)], value: Double) {
        guard pairs.count >= ComparisonReport.Conditions.repeatsMin else { return nil }
        self.value = value
        low = min(Self.least(pairs), value)
        high = max(1 / Self.least(pairs.map { ($1, $0) }), value)
    }

    /// The lower end of the interval of the ratios within pairs.
    private static func least(_ pairs: [(Double, Double)]) -> Double {
        let ratios = pairs.map { $0 / max($1, .leastNormalMagnitude) }.sorted()
        let scaled = ratios.map { $0 * scale }
        // One in which the other strategy did not collapse, as it does else, is no disturbance.
        let isFastOfOther =
            SlowRepeat(pairs.map { scale * scale / max($1, Modes.valueMin) }) != nil
        let isSlowLeftOut = SlowRepeat(scaled) != nil && !isFastOfOther
        let cut = ClusteredMedian.cutCount(ratios.count)
        let lowest = Modes(scaled) != nil ? 0 : max(cut, isSlowLeftOut ? 1 : 0)
        return max(ratios[lowest], .leastNormalMagnitude)
    }

    /// The geometric mean; `nil` of nothing.
    init?(over ratios: [SpeedRatio]) {
        guard !ratios.isEmpty else { return nil }
        let count = Double(ratios.count)
        func sum(_ term: (SpeedRatio) -> Double) -> Double { ratios.map(term).reduce(0, +) }
        let center = sum { log($0.value) } / count
        let below = sum { pow(log($0.value / $0.low), 2) }.squareRoot() / count
        let above = sum { pow(log($0.high / $0.value), 2) }.squareRoot() / count
        (value, low, high) = (exp(center), exp(center - below), exp(center + above))
    }

    var width: Double { log(high / low) }

    /// Of the ratio of two speeds, of which one can be 0.
    static func logarithm(_ one: Double, _ other: Double) -> Double {
        log(max(one, Modes.valueMin) / max(other, Modes.valueMin))
    }
}

extension ComparisonReport.Rounds {
    /// The ratios of the slices of one round, as logarithms, with the distance that the processors
    /// had; those in which it was not the same are left out.
    func ratioLogarithms(
        to other: Self
    ) -> [(round: Int, logarithm: Double, processors: ComparisonReport.ProcessorDistance?)] {
        zip(numbered, other.numbered).enumerated().compactMap { round, pair in
            let (own, theirs) = pair
            guard own.processors == theirs.processors, own.processors != .changed else {
                return nil
            }
            return (round, SpeedRatio.logarithm(own.speed, theirs.speed), own.processors)
        }
    }

    /// The slices with their distance; a file can have fewer of these.
    private var numbered: [(speed: Double, processors: ComparisonReport.ProcessorDistance?)] {
        operationsPerSecond.enumerated().map { index, speed in
            (speed, processors.map { $0.indices.contains(index) ? $0[index] : .changed })
        }
    }
}

extension ComparisonReport.Case {
    /// The usual mode of the processors, if both figures are of it.
    func usual(with other: Self) -> ComparisonReport.ProcessorDistance? {
        processors == other.processors ? processors : nil
    }
}

extension RankedFigure {
    /// The repeats that count in both cases, by index.
    func pairedRepeats(
        _ one: ComparisonReport.Case,
        _ other: ComparisonReport.Case
    ) -> [(ComparisonReport.Repeat, ComparisonReport.Repeat)] {
        let others = Dictionary(
            other.counted.map { ($0.index, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        return one.counted.compactMap { entry in others[entry.index].map { (entry, $0) } }
    }

    /// Their speeds.
    ///
    /// Only those in which the processors were as far apart, if they can be ranked.
    func pairedSpeeds(
        _ one: ComparisonReport.Case,
        _ other: ComparisonReport.Case
    ) -> [(Double, Double)] {
        let pairs = pairedRepeats(one, other)
        let usual = one.usual(with: other)
        let same = one.threads > 1 ? pairs.filter { $0.processors == $1.processors } : []
        let ofUsual = same.filter { usual == nil || $0.0.processors == usual }
        let alike = [ofUsual, same].first { $0.count >= ComparisonReport.Conditions.repeatsMin }
        return (alike ?? pairs).compactMap { one, other in
            guard let own = speed(one), let theirs = speed(other) else { return nil }
            return (own, theirs)
        }
    }
}
