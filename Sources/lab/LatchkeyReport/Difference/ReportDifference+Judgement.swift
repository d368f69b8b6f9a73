internal import Foundation
internal import LatchkeyComparison

extension ReportDifference {
    /// The share of pairs of equal reports in which any difference is found.
    private static let errorRate = 0.05
    /// The variance of a figure that is always the same is taken to be this.
    private static let varianceMin = 1e-8

    /// Tells differences from noise, over many cases at once.
    ///
    /// **The rule.** Figures are compared as logarithms, so that differences are ratios. The
    /// difference of the means of the repeats, divided by its standard error, is judged by
    /// Student's distribution (Welch's test). Few repeats agree by luck now and then, so no case is
    /// taken to vary less than the median of its family does. Holm's correction for many
    /// comparisons, which holds however the cases depend on each other, makes sure that anything
    /// at all is found in at most 5 of 100 pairs of equal reports. And a difference has to be great
    /// enough to matter.
    ///
    /// Percentiles of resampled repeats would not do for this: those of five repeats end at the
    /// minimum and the maximum of them, and with a hundred cases two such ranges lie apart by
    /// chance.
    static func judge(_ rows: inout [Row]) {
        let families = Dictionary(grouping: rows.indices) { rows[$0].family }
        for family in families.values {
            let errorRate = errorRate / Double(families.count)
            let variances = family.flatMap { index in
                [variance(rows[index].logarithmsBefore), variance(rows[index].logarithmsAfter)]
            }.sorted()
            let varianceMin = max(variances[variances.count / 2], varianceMin)
            let tests = family.map { (index: $0, test: WelchTest(rows[$0], varianceMin)) }
            var left = family.count
            for (index, test) in tests.sorted(by: { $0.test.probability < $1.test.probability }) {
                guard test.probability * Double(left) <= errorRate else { break }
                rows[index].isFound = abs(test.difference) >= rows[index].leastDifference
                left -= 1
            }
            for (index, test) in tests {
                let least = test.difference(ofProbability: errorRate / Double(family.count))
                rows[index].detectable = max(least, rows[index].leastDifference)
            }
        }
    }
}

func mean(_ values: [Double]) -> Double {
    values.reduce(0, +) / Double(max(1, values.count))
}

private func variance(_ values: [Double]) -> Double {
    let center = mean(values)
    return values.reduce(0) { $0 + pow($1 - center, 2) } / Double(max(1, values.count - 1))
}

/// The difference of two means with its standard error.
private struct WelchTest {
    let difference: Double
    private let standardError: Double
    private let student: StudentDistribution
    /// Of a difference this great, in either direction, without a cause.
    let probability: Double

    init(_ row: ReportDifference.Row, _ varianceMin: Double) {
        difference = row.difference
        let parts = [row.logarithmsBefore, row.logarithmsAfter].map { values in
            let square = max(variance(values), varianceMin) / Double(values.count)
            return (square: square, freedom: square * square / Double(values.count - 1))
        }
        let square = parts[0].square + parts[1].square
        standardError = square.squareRoot()
        student = StudentDistribution(
            freedom: square * square / (parts[0].freedom + parts[1].freedom)
        )
        probability = student.tails(difference / standardError)
    }

    func difference(ofProbability probability: Double) -> Double {
        student.quantile(tails: probability) * standardError
    }
}
