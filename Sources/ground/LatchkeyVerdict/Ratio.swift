internal import Foundation

/// How many times as fast one strategy is as another, with a 95 % interval.
///
/// Only figures that were measured next to each other are compared. In one case each repeat gives
/// one ratio: the median of those within the **rounds** after it, or where one of the two has none,
/// that of the repeat. A disturbance of both cancels in it; a disturbance of one side is in the
/// interval.
///
/// The interval is a **bootstrap by repeat**: repeats are drawn, because rounds after one repeat
/// are more alike than those after another one. The standard error that drawing gives to a mean has
/// a closed form, so nothing is drawn, and the interval is the same each time. With few repeats it
/// is too narrow. So it is wider by ``widening(_:)``, which was found with recorded rounds.
///
/// Over several cases it is the geometric mean. The same repeats are drawn in all of them, since a
/// disturbance of one case disturbs the next one, too.
///
/// The value is the ratio of the figures in the table; where that is outside of the interval, it is
/// its end. So a sentence that has both never contradicts itself.
///
/// **Law.** The ratio of B to A is the inverse of that of A to B, with its interval.
package struct Ratio: Sendable, Equatable {
    package var value: Double
    package var low: Double
    package var high: Double

    /// Fewer repeats have no interval.
    package static let repeatsMin = 3
    /// Of a normal distribution, 95 % are within this many standard errors.
    fileprivate static let normalQuantile = 1.96
    /// Fewer rounds after a repeat have no useful median.
    private static let roundsMin = 3

    /// The factor by which the interval of the bootstrap is widened for a number of repeats.
    ///
    /// In simulations that draw recorded rounds, with 0 to 0.4 busy processors beside them, 95 % of
    /// the intervals hold the truth with a factor of 2.0 to 3.1 for three repeats, 1.2 to 1.7 for
    /// five and 1.0 to 1.2 for ten. `docs/measuring.md` says how.
    package static func widening(_ repeats: Int) -> Double {
        repeats < repeatsMin ? .infinity : 1.1 + 1.9 / Double(repeats - 2)
    }

    package init(value: Double, low: Double, high: Double) {
        (self.value, self.low, self.high) = (value, low, high)
    }

    /// In one case.
    package init(_ one: VerdictTable.Figures, _ other: VerdictTable.Figures) {
        self.init(over: [Pairing(one, other)])
    }

    /// Over cases.
    init(over pairings: [Pairing]) {
        let table = pairings.reduce(0) { $0 + $1.tableLogarithm } / Double(max(1, pairings.count))
        let interval = Interval(pairings.map(\.logarithms))
        (low, high) = (exp(interval.low), exp(interval.high))
        value = min(max(exp(table), low), high)
    }

    /// The ratio of two sides that were not measured next to each other.
    ///
    /// Each of them adds its error, which is widened for the number of its values. A side with too
    /// few values for an error of its own gets that of the other one.
    ///
    /// - Parameters:
    ///   - before: the logarithms of the values of each case, repeats or runs. Those with one key
    ///     have something in common.
    ///   - after: the same of the other side.
    ///   - errorMin: the least widened error, since few repeats agree by luck now and then.
    ///   - comparisonCount: how many such ratios are looked at. Of as many normal figures, the
    ///     chance that any of them errs would be 5 %.
    package init(
        before: [[Int: Double]],
        after: [[Int: Double]],
        errorMin: Double = 0,
        comparisonCount: Int = 1
    ) {
        let (old, new) = Self.sides(before, after)
        let count = Double(max(1, comparisonCount))
        // The limit of a normal distribution's tails, exp(−z² / 2).
        let quantile = count > 1 ? (2 * log(count / 0.05)).squareRoot() : Self.normalQuantile
        let half = quantile * max(hypot(old.widenedError, new.widenedError), errorMin)
        let center = new.center - old.center
        (value, low, high) = (exp(center), exp(center - half), exp(center + half))
    }

    /// The standard error of the ratio of two sides, widened.
    package static func error(before: [[Int: Double]], after: [[Int: Double]]) -> Double {
        let (old, new) = sides(before, after)
        return hypot(old.widenedError, new.widenedError)
    }

    private static func sides(
        _ before: [[Int: Double]],
        _ after: [[Int: Double]]
    ) -> (Interval, Interval) {
        let (old, new) = (Interval(before), Interval(after))
        return (old.spread(as: new), new.spread(as: old))
    }

    package var inverse: Self { Self(value: 1 / value, low: 1 / high, high: 1 / low) }

    /// One ratio for each repeat, as a logarithm, and that of the table.
    struct Pairing: Sendable {
        var logarithms: [Int: Double]
        var tableLogarithm: Double

        init(_ one: VerdictTable.Figures, _ other: VerdictTable.Figures) {
            tableLogarithm = log(one.speed / other.speed)
            let short = one.rounds.merged(other.rounds) { own, theirs in
                let ratios = zip(own, theirs).compactMap { own, theirs -> Double? in
                    guard let own, let theirs else { return nil }
                    return log(own / theirs)
                }
                return ratios.count < Ratio.roundsMin ? nil : median(ratios)
            }
            logarithms =
                short.count < Ratio.repeatsMin
                ? one.repeats.merged(other.repeats) { log($0 / $1) } : short
        }

        private init(_ logarithms: [Int: Double], _ tableLogarithm: Double) {
            (self.logarithms, self.tableLogarithm) = (logarithms, tableLogarithm)
        }

        var inverse: Self { Self(logarithms.mapValues { -$0 }, -tableLogarithm) }
    }
}

/// The interval of a mean over cases of means over repeats.
private struct Interval {
    var center = 0.0
    /// The standard error that drawing repeats gives.
    var error = 0.0
    /// The repeats of the case that has the fewest.
    var repeats: Int

    init(_ cases: [[Int: Double]]) {
        repeats = cases.map(\.count).min() ?? 0
        guard repeats > 0 else { return }
        let count = Double(cases.count)
        // The share of each repeat in the mean.
        var shares: [Int: Double] = [:]
        for values in cases {
            let own = Double(values.count)
            let mean = values.sorted { $0.key < $1.key }.reduce(0) { $0 + $1.value } / own
            center += mean / count
            for (index, value) in values {
                shares[index, default: 0] += (value - mean) / (own * count)
            }
        }
        error = shares.sorted { $0.key < $1.key }.reduce(0) { $0 + $1.value * $1.value }
            .squareRoot()
    }

    /// With the error of the other side, scaled, if it has too few values for one of its own.
    func spread(as other: Self) -> Self {
        guard repeats < Ratio.repeatsMin, repeats > 0, other.repeats >= Ratio.repeatsMin else {
            return self
        }
        var copy = self
        copy.error = other.error * (Double(other.repeats) / Double(repeats)).squareRoot()
        copy.repeats = other.repeats
        return copy
    }

    /// Wider for few values.
    var widenedError: Double {
        repeats < Ratio.repeatsMin ? .infinity : Ratio.widening(repeats) * error
    }

    private var half: Double { Ratio.normalQuantile * widenedError }

    var low: Double { center - half }
    var high: Double { center + half }
}

extension Dictionary {
    /// The values of the keys that both have.
    fileprivate func merged<Other, Result>(
        _ other: [Key: Other],
        _ combine: (Value, Other) -> Result?
    ) -> [Key: Result] {
        var result: [Key: Result] = [:]
        for (key, value) in self {
            if let theirs = other[key] { result[key] = combine(value, theirs) }
        }
        return result
    }
}

/// The median of at least one value.
func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    let middle = sorted.count / 2
    return sorted.count.isMultiple(of: 2)
        ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
}
