/// The plain figures of a list of numbers.
package enum Statistics {
    /// The middle value, or the mean of the two middle ones; 0 of nothing.
    package static func median(_ values: [Double]) -> Double {
        median(sorted: values.sorted())
    }

    static func median(sorted values: [Double]) -> Double {
        guard !values.isEmpty else { return 0 }
        let middle = values.count / 2
        return values.count.isMultiple(of: 2)
            ? (values[middle - 1] + values[middle]) / 2 : values[middle]
    }

    /// The least value that at least this share of the values does not exceed.
    package static func quantile(_ share: Double, sorted values: [Double]) -> Double {
        guard !values.isEmpty else { return 0 }
        let rank = Int((share * Double(values.count)).rounded(.up))
        return values[min(values.count - 1, max(0, rank - 1))]
    }

    /// Jain's fairness index: 1 if all shares are the same, 1/n if one has everything.
    ///
    /// 1 if all values are 0.
    package static func jainIndex(_ shares: [Double]) -> Double {
        let sum = shares.reduce(0, +)
        let squares = shares.reduce(0) { $0 + $1 * $1 }
        guard squares > 0 else { return 1 }
        return sum * sum / (Double(shares.count) * squares)
    }
}

/// Intervals from resampling: what else the repeats could have been, as far as they tell.
package enum Bootstrap {
    /// The number of resamples of an interval.
    package static let resampleCount = 1_000
    /// The share of the resamples that an interval contains.
    package static let level = 0.95

    /// The interval in which the median of the values lies, by percentiles.
    ///
    /// For one value, that value. For a few values, nearly their whole range, which contains the
    /// true median less often than the level says: the range of n values contains it in all but 1
    /// of 2^(n − 1) runs, which is 75 % for three and 93.75 % for five.
    package static func medianInterval(
        _ values: [Double],
        seed: UInt64
    ) -> (low: Double, high: Double) {
        var random = SeededRandom(seed: seed)
        let medians = (0..<resampleCount).map { _ in
            Statistics.median(resample(values, &random))
        }
        return interval(medians)
    }

    /// As many of the values as there are, each drawn from all of them.
    static func resample(_ values: [Double], _ random: inout SeededRandom) -> [Double] {
        values.indices.map { _ in values[Int.random(in: values.indices, using: &random)] }
    }

    /// The part of the estimates that is left when as many are cut off at both ends.
    static func interval(_ estimates: [Double]) -> (low: Double, high: Double) {
        let sorted = estimates.sorted()
        let cut = (1 - level) / 2
        return (
            Statistics.quantile(cut, sorted: sorted),
            Statistics.quantile(1 - cut, sorted: sorted)
        )
    }
}

extension ComparisonReport.Spread {
    /// The spread of the repeats' throughput.
    package init(_ values: [Double], seed: UInt64) {
        let interval = Bootstrap.medianInterval(values, seed: seed)
        self.init(
            min: values.min() ?? 0,
            median: Statistics.median(values),
            max: values.max() ?? 0,
            intervalLow: interval.low,
            intervalHigh: interval.high
        )
    }

    /// Whether the intervals touch, so that no difference was found.
    package func overlaps(_ other: Self) -> Bool {
        intervalLow <= other.intervalHigh && other.intervalLow <= intervalHigh
    }
}

/// The two groups that repeats of a bistable case fall into.
///
/// Locks have modes: the same case runs at full speed or as a convoy, depending on how the threads
/// happened to meet. The median of such repeats says only which mode came up more often.
package struct Modes: Sendable, Equatable {
    package let worse: Double
    package let better: Double

    /// The least ratio of the better group to the worse one.
    package static let ratioMin = 1.5
    /// The fewest repeats of a group: one alone may be a disturbance.
    package static let groupMin = 2
    /// Stands in for a repeat in which nothing was done, the slowest of all: half an operation a
    /// second.
    package static let valueMin = 0.5

    /// `nil` unless the greatest gap between neighbours divides the values into two groups, the
    /// medians are far enough apart, and the gap is wider than either group.
    package init?(_ values: [Double]) {
        let sorted = values.map { max($0, Self.valueMin) }.sorted()
        guard sorted.count >= 2 * Self.groupMin else { return nil }
        let splits = Self.groupMin...(sorted.count - Self.groupMin)
        guard let split = splits.max(by: { Self.gap(sorted, $0) < Self.gap(sorted, $1) }) else {
            return nil
        }
        let low = sorted[..<split]
        let high = sorted[split...]
        let gap = Self.gap(sorted, split)
        worse = Statistics.median(sorted: Array(low))
        better = Statistics.median(sorted: Array(high))
        guard better >= Self.ratioMin * worse, let least = low.first, let lowest = high.first,
            let most = high.last, let highest = low.last,
            gap > highest / least, gap > most / lowest
        else { return nil }
    }

    /// The value at `index` over the one before it.
    private static func gap(_ sorted: [Double], _ index: Int) -> Double {
        sorted[index] / sorted[index - 1]
    }
}

extension Sequence where Element: Hashable {
    /// The elements without those that were there before.
    package func uniqued() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
