internal import Foundation

/// Intervals from resampling: what else the repeats could have been, as far as they tell.
package enum Bootstrap {
    /// The share of the resamples that an interval contains.
    package static let level = 0.95
    /// The share that is cut off at each end.
    static let tail = (1 - level) / 2

    /// The interval in which the median of the values lies, by the percentile bootstrap.
    ///
    /// Exact: instead of drawing resamples, it weighs each median that a resample can have with its
    /// probability. So the same values have the same interval, and a list that is greater at every
    /// rank has the greater one.
    ///
    /// For one value, that value; 0 of nothing. For a few values, nearly their whole range, which
    /// contains the true median less often than the level says: the range of n values contains it
    /// in all but 1 of 2^(n − 1) runs, which is 75 % for three and 93.75 % for five.
    ///
    /// The time grows with the square of the number of values.
    package static func medianInterval(_ values: [Double]) -> (low: Double, high: Double) {
        let medians = medians(values.sorted()).sorted { $0.value < $1.value }
        func end(_ medians: some Sequence<Weighted>) -> Double {
            var sum = 0.0
            return medians.first { median in
                sum += median.probability
                return sum >= tail
            }?.value ?? 0
        }
        return (end(medians), end(medians.reversed()))
    }

    private typealias Weighted = (value: Double, probability: Double)

    /// The medians of all resamples.
    ///
    /// In a resample, the number of values up to some rank has a binomial distribution.
    private static func medians(_ sorted: [Double]) -> [Weighted] {
        let count = sorted.count
        let middle = (count + 1) / 2
        let ways = (0...count).map { logarithmOfWays($0, of: count) }
        /// That the lower one of the two middle values, or the only one, has at most this rank.
        let atMost = sorted.indices.map { rank in
            guard rank + 1 < count else { return 1.0 }
            let share = Double(rank + 1) / Double(count)
            let (below, above) = (log(share), log(1 - share))
            return (middle...count).reduce(0.0) { sum, drawn in
                let logarithm: Double = Double(drawn) * below + Double(count - drawn) * above
                return sum + exp(ways[drawn] + logarithm)
            }
        }
        let exactly = zip(atMost, [0] + atMost).map { $0 - $1 }
        guard count.isMultiple(of: 2) else { return Array(zip(sorted, exactly)) }
        /// That half of the values have at most this rank, and one of them has it.
        let highest = sorted.indices.map { rank in
            pow(Double(rank + 1) / Double(count), Double(middle))
                - pow(Double(rank) / Double(count), Double(middle))
        }
        let halves = exp(ways[middle])
        return sorted.indices.flatMap { lower in
            // By symmetry, the least rank of the other half.
            let apart: [Weighted] = ((lower + 1)..<count).map { upper in
                (
                    (sorted[lower] + sorted[upper]) / 2,
                    halves * highest[lower] * highest[count - 1 - upper]
                )
            }
            let same = exactly[lower] - apart.reduce(0) { $0 + $1.probability }
            return [(sorted[lower], max(0, same))] + apart
        }
    }

    /// Of a binomial coefficient.
    private static func logarithmOfWays(_ drawn: Int, of count: Int) -> Double {
        lgamma(Double(count + 1)) - lgamma(Double(drawn + 1)) - lgamma(Double(count - drawn + 1))
    }
}
