import Foundation

/// The two modes of a series of readings of the cache line: processors near each other, and far
/// apart.
///
/// **The rule.** The readings are split into two groups where the distances from the groups'
/// medians are least, as logarithms. A reading belongs to the nearer median. They are modes if the
/// medians are at least a factor of ``ratioMin`` apart, at least ``shareMin`` of the readings and
/// two belong to each, and at most ``betweenMax`` of all lie in the middle third between them. Few
/// disturbed readings so make no mode, and neither does a wide spread.
package struct CacheLineModes: Sendable, Equatable {
    /// The medians, in nanoseconds.
    package let near: Double
    package let far: Double

    package static let ratioMin = 2.0
    package static let shareMin = 0.05
    package static let betweenMax = 0.1

    /// `nil` if the readings have one mode.
    package init?(_ readings: [Double]) {
        let logarithms = readings.filter { $0 > 0 }.map { log($0) }.sorted()
        let count = logarithms.count
        let least = max(2, Int((Self.shareMin * Double(count)).rounded(.up)))
        guard count >= 2 * least else { return nil }
        var sums = [0.0]
        for value in logarithms { sums.append(sums[sums.count - 1] + value) }
        /// The sum of the distances from the median of a part.
        func distance(_ part: Range<Int>) -> Double {
            let middle = part.lowerBound + part.count / 2
            let upper = sums[part.upperBound] - sums[part.upperBound - part.count / 2]
            return upper - (sums[middle] - sums[part.lowerBound])
        }
        let split = (least...(count - least)).min {
            distance(0..<$0) + distance($0..<count) < distance(0..<$1) + distance($1..<count)
        }
        guard let split else { return nil }
        let low = Statistics.median(sorted: Array(logarithms[..<split]))
        let high = Statistics.median(sorted: Array(logarithms[split...]))
        let third = (high - low) / 3
        let between = logarithms.count { $0 > low + third && $0 < high - third }
        let farCount = logarithms.count { 2 * $0 >= low + high }
        guard high - low >= log(Self.ratioMin), min(farCount, count - farCount) >= least,
            Double(between) <= Self.betweenMax * Double(count)
        else { return nil }
        (near, far) = (exp(low), exp(high))
    }

    /// Whether a reading belongs to the mode in which processors are far apart.
    package func isFar(_ nanoseconds: Double) -> Bool { nanoseconds * nanoseconds >= near * far }

    /// The mode of a slice with these readings before, within and after it; `nil` without any.
    func distance(_ readings: [Double]) -> ComparisonReport.ProcessorDistance? {
        guard let first = readings.first.map(isFar) else { return nil }
        return readings.allSatisfy { isFar($0) == first } ? (first ? .far : .near) : .changed
    }
}
