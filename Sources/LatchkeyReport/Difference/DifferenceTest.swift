internal import Foundation
internal import LatchkeyComparison

/// Tells differences between two sets of repeated measurements from noise, over many cases at once.
///
/// **The rule.** Figures are compared as logarithms, so that differences are ratios. The difference
/// of the means of the repeats, divided by its standard error, is judged by Student's distribution,
/// as Welch does. Few repeats agree by luck now and then, so no case is taken to vary less than the
/// median of its family does. Of all the differences only so many are believed that one of them is
/// noise in at most 5 of 100 pairs of equal reports (Holm's correction for many comparisons, which
/// holds however the cases depend on each other). And a difference has to be great enough to
/// matter.
///
/// Percentiles of resampled repeats would not do for this: those of five repeats end at the least
/// and the greatest of them, and with a hundred cases two such ranges lie apart by chance.
enum DifferenceTest {
    /// The logarithms of a figure's repeats in two reports.
    struct Case {
        var before: [Double]
        var after: [Double]
        /// The difference that matters, as a logarithm.
        var leastDifference: Double
        /// Cases of the same family vary about as much, and share an error rate.
        var family: String
    }

    struct Outcome: Equatable {
        /// The logarithm of after over before.
        var difference: Double
        /// The least difference that would have been found for certain.
        var detectable: Double
        var isFound: Bool
    }

    /// In how many pairs of equal reports anything at all is found.
    static let errorRate = 0.05
    /// Below this the variance of a figure that is always the same is not believed.
    private static let varianceMin = 1e-8

    static func outcomes(_ cases: [Case]) -> [Outcome] {
        let families = Dictionary(grouping: cases.indices) { cases[$0].family }
        var outcomes = [Outcome](
            repeating: Outcome(difference: 0, detectable: 0, isFound: false),
            count: cases.count
        )
        for family in families.values {
            let judged = judge(family.map { cases[$0] }, errorRate / Double(families.count))
            for (index, outcome) in zip(family, judged) {
                outcomes[index] = outcome
            }
        }
        return outcomes
    }

    /// Judges the cases of one family together.
    private static func judge(_ cases: [Case], _ errorRate: Double) -> [Outcome] {
        let variances = (cases.map { variance($0.before) } + cases.map { variance($0.after) })
            .sorted()
        let floor = max(variances[variances.count / 2], varianceMin)
        let quotients = cases.map { Quotient($0, varianceMin: floor) }
        let probabilities = quotients.map(\.probability)
        var isFound = [Bool](repeating: false, count: cases.count)
        var left = cases.count
        for index in cases.indices.sorted(by: { probabilities[$0] < probabilities[$1] }) {
            guard probabilities[index] * Double(left) <= errorRate else { break }
            isFound[index] = abs(quotients[index].difference) >= cases[index].leastDifference
            left -= 1
        }
        return cases.indices.map { index in
            let quotient = quotients[index]
            let least = quotient.difference(ofProbability: errorRate / Double(cases.count))
            return Outcome(
                difference: quotient.difference,
                detectable: max(least, cases[index].leastDifference),
                isFound: isFound[index]
            )
        }
    }

    static func mean(_ values: [Double]) -> Double {
        values.reduce(0, +) / Double(max(1, values.count))
    }

    static func variance(_ values: [Double]) -> Double {
        let center = mean(values)
        let squares = values.reduce(0) { $0 + ($1 - center) * ($1 - center) }
        return squares / Double(max(1, values.count - 1))
    }

    /// A difference with its standard error.
    private struct Quotient {
        var difference: Double
        var standardError: Double
        var freedom: Double

        init(_ entry: Case, varianceMin: Double) {
            func part(_ values: [Double]) -> Double {
                max(variance(values), varianceMin) / Double(values.count)
            }
            let (before, after) = (part(entry.before), part(entry.after))
            difference = mean(entry.after) - mean(entry.before)
            standardError = (before + after).squareRoot()
            freedom =
                (before + after) * (before + after)
                / (before * before / Double(entry.before.count - 1)
                    + after * after / Double(entry.after.count - 1))
        }

        /// Of a difference this great, in either direction, without a cause.
        var probability: Double {
            StudentDistribution(freedom: freedom).tails(difference / standardError)
        }

        func difference(ofProbability probability: Double) -> Double {
            StudentDistribution(freedom: freedom).quantile(tails: probability) * standardError
        }
    }
}
