internal import Foundation

/// The plain figures of a list of numbers.
package enum Statistics {
    /// The mean of at least one value.
    package static func mean(_ values: some Collection<Double>) -> Double {
        // In one order, so that it is the same each time.
        values.sorted().reduce(0, +) / Double(values.count)
    }

    /// The middle value, or the mean of the two middle ones; 0 if there are none.
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

/// The 95 % interval of the median of values that come in clusters, such as the rounds after one
/// repeat.
///
/// Values of one cluster are more alike than those of another: the state of the machine changes
/// within seconds. The interval is only shown. It is the wider one at each end of two:
/// - that of the sign test over all values, as if they were independent;
/// - the range of the clusters' medians. The range of n of them contains the true one in all but 1
///   of 2^(n − 1) runs: 93.75 % for five clusters.
enum ClusteredMedian {
    /// A cluster of fewer values has no useful median.
    private static let clusterSizeMin = 3
    /// The share that is cut off at each end.
    private static let tail = 0.025

    /// The interval; 0 if there are no values.
    ///
    /// For one cluster it is that of the sign test: the range of up to eight values.
    static func interval(_ clusters: [[Double]]) -> (low: Double, high: Double) {
        let sorted = clusters.flatMap(\.self).sorted()
        guard !sorted.isEmpty else { return (0, 0) }
        let cut = cutCount(sorted.count)
        let medians = clusters.filter { $0.count >= clusterSizeMin }.map { Statistics.median($0) }
        let (low, high) = (sorted[cut], sorted[sorted.count - 1 - cut])
        return (min(low, medians.min() ?? low), max(high, medians.max() ?? high))
    }

    /// How many values the interval of the sign test leaves out at each end.
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

extension ComparisonReport.Spread {
    /// The spread of the repeats' speed: more is better.
    ///
    /// Which of two modes comes next is unknown, so the interval begins at the slowest repeat.
    /// One slow repeat says nothing about the others, so the interval begins where theirs does.
    /// The upper end counts all repeats.
    package init(_ values: [Double]) {
        let sorted = values.sorted()
        let median = Statistics.median(sorted: sorted)
        let interval = ClusteredMedian.interval([sorted])
        let low =
            if Modes(sorted) != nil {
                sorted[0]
            } else if SlowRepeat(sorted) != nil {
                ClusteredMedian.interval([Array(sorted.dropFirst())]).low
            } else {
                interval.low
            }
        self.init(
            min: sorted.first ?? 0,
            median: median,
            max: sorted.last ?? 0,
            intervalLow: Swift.min(low, median),
            intervalHigh: interval.high
        )
    }

    /// The spread of short slices, those after one repeat together.
    package init(slices clusters: [[Double]]) {
        let sorted = clusters.flatMap(\.self).sorted()
        let interval = ClusteredMedian.interval(clusters)
        self.init(
            min: sorted.first ?? 0,
            median: Statistics.median(sorted: sorted),
            max: sorted.last ?? 0,
            intervalLow: interval.low,
            intervalHigh: interval.high
        )
    }

    /// Whether the intervals touch, so that no difference was found.
    package func overlaps(_ other: Self) -> Bool {
        intervalLow <= other.intervalHigh && other.intervalLow <= intervalHigh
    }

    /// The spread of a figure that falls when this one grows, such as a response for a speed.
    package func reversed(_ figure: (Double) -> Double) -> Self {
        Self(
            min: figure(max),
            median: figure(median),
            max: figure(min),
            intervalLow: figure(intervalHigh),
            intervalHigh: figure(intervalLow)
        )
    }
}

extension Sequence where Element: Hashable {
    /// The elements without duplicates, in their order.
    package func uniqued() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
