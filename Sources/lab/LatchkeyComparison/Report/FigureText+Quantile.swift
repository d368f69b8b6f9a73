internal import LatchkeyContention
package import LatchkeyVerdict

extension FigureText {
    /// The upper bound of the shortest waits and holds, whose own length is not known.
    package static let quantileNanosecondsMin = Double(DurationBuckets.quantileNanosecondsMin)

    /// A quantile of waits or holds: `1.20 ms`, or `≤100 ns` for whatever is in the first bucket.
    package static func quantile(nanoseconds: Double) -> String {
        nanoseconds <= quantileNanosecondsMin
            ? "≤" + duration(nanoseconds: quantileNanosecondsMin)
            : duration(nanoseconds: nanoseconds)
    }
}
