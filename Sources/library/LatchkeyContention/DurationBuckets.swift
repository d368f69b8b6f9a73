package import LatchkeyMetrics

/// The fixed buckets of wait and hold times: up to 100 ns, and then each bound twice the one
/// before it, up to 13.4 s, and above.
package enum DurationBuckets {
    static let boundCount = 28
    static let count = boundCount + 1

    /// The bounds in nanoseconds.
    package static let bounds = HistogramBounds(
        (0..<boundCount).map { 100 << UInt64($0) },
        scale: .nanosecondsInSeconds
    )

    /// A quantile up to here is an upper bound, not an estimate.
    package static let quantileNanosecondsMin = bounds.values[0]

    /// The bucket of a duration.
    ///
    /// A duration equal to a bound is in the bucket that it ends.
    static func index(_ nanoseconds: UInt64) -> Int {
        guard nanoseconds > 100 else { return 0 }
        // In hundreds, rounded down to what lies strictly above: 101...200 gives 1, 201...400
        // gives 2 and 3, and so on; the number of bits is then the bucket.
        let hundreds = (nanoseconds - 1) / 100
        return min(UInt64.bitWidth - hundreds.leadingZeroBitCount, boundCount)
    }

    /// The duration below which a share of the values lies, in nanoseconds.
    ///
    /// Inside a bucket the values are taken as evenly spread, as PromQL's `histogram_quantile`
    /// does, so that both give the same number. The estimate is thus exact at the bounds and wrong
    /// by less than the width of the bucket, a factor of two, in between. It is never above `max`,
    /// and `max` is the answer where the bucket has no upper bound.
    ///
    /// The first bucket begins at zero, where the error has no limit. The answer there is its upper
    /// bound, or `max` if that is less.
    ///
    /// - Returns: `nil` if the buckets are empty.
    static func quantile(_ share: Double, of buckets: [UInt64], max: UInt64) -> UInt64? {
        let total = buckets.reduce(0, &+)
        guard total > 0 else { return nil }
        let rank = share * Double(total)
        var below: UInt64 = 0
        for (index, count) in buckets.enumerated() where count > 0 {
            guard Double(below &+ count) >= rank else {
                below &+= count
                continue
            }
            guard index < boundCount else { return max }
            guard index > 0 else { return min(quantileNanosecondsMin, max) }
            let upper = Double(bounds.values[index])
            let lower = Double(bounds.values[index - 1])
            let estimate = lower + (upper - lower) * ((rank - Double(below)) / Double(count))
            return min(UInt64(estimate.rounded()), max)
        }
        return max
    }
}
