internal import Foundation
internal import LatchkeyComparison

/// How many times as fast one strategy is as another, with a 95 % interval.
///
/// The value is the ratio of the figures in the table. In one case there are two ways to the
/// interval, and the narrower one is taken:
/// - **within the repeats**: repeats with one index were taken next to each other, so that what
///   disturbs both cancels in their ratio. The interval is that of the median of these ratios, by
///   order statistics: the sign test's. Of five it is their range. It holds the table's ratio, too.
///   Where the processors were near each other in one of a pair and far apart in the other, the
///   pair does not count, as long as enough others do;
/// - **of the medians**: the two intervals of the medians, as independent.
///
/// If the ratios have two modes, their interval is their range; one of five or more that is far
/// from all others is left out, at either end.
///
/// **Law.** The ratio of B to A is the inverse of that of A to B, with its interval.
///
/// Over several cases, it is the geometric mean; the distances to the ends are independent.
struct SpeedRatio: Equatable {
    var value: Double
    var low: Double
    var high: Double

    /// The share of runs in which the median may be below the interval, and that in which above.
    private static let tail = 0.025
    /// Ratios are compared with a repeat that did nothing, whose stand-in is not far from 1.
    private static let scale = 1e9

    init(value: Double, low: Double, high: Double) {
        (self.value, self.low, self.high) = (value, low, high)
    }

    /// In one case; `nil` if one of the two has no speed.
    init?(_ one: ComparisonReport.Case, _ other: ComparisonReport.Case) {
        guard let own = Standing(one), let others = Standing(other) else { return nil }
        let pairs = RankedFigure(one.workload).pairedSpeeds(one, other)
        let paired = Self(pairs: pairs, value: own.speed / others.speed)
        let independent = Self(own, others)
        self = paired.flatMap { $0.width < independent.width ? $0 : nil } ?? independent
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
        let isSlowLeftOut = SlowRepeat(scaled) != nil
        let lowest = Modes(scaled) != nil ? 0 : max(cutCount(ratios.count), isSlowLeftOut ? 1 : 0)
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

    /// How many ratios the interval of a median leaves out at each end.
    private static func cutCount(_ count: Int) -> Int {
        var probability = pow(0.5, Double(count))
        var (total, cut) = (0.0, 0)
        while true {
            total += probability
            guard total <= tail else { return max(0, cut - 1) }
            probability *= Double(count - cut) / Double(cut + 1)
            cut += 1
        }
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
        let alike = pairs.filter { $0.processors == $1.processors }
        let least = ComparisonReport.Conditions.repeatsMin
        return (one.threads > 1 && alike.count >= least ? alike : pairs).compactMap { one, other in
            guard let own = speed(one), let theirs = speed(other) else { return nil }
            return (own, theirs)
        }
    }
}
