internal import Foundation
internal import LatchkeyComparison

/// Student's distribution, for judging the mean of a few values.
package struct StudentDistribution {
    /// Degrees of freedom; above 0.
    let freedom: Double

    package init(freedom: Double) {
        self.freedom = freedom
    }

    /// The probability of a value as far from 0 as `value`, or farther, on either side.
    func tails(_ value: Double) -> Double {
        guard value.isFinite else { return value.isNaN ? 1 : 0 }
        return Self.betaShare(freedom / (freedom + value * value), freedom / 2, 0.5)
    }

    /// The value above 0 with this probability in both tails.
    package func quantile(tails probability: Double) -> Double {
        var low = 0.0
        var high = 1.0
        while tails(high) > probability, high < 1e12 { high *= 2 }
        for _ in 0..<60 {
            let middle = (low + high) / 2
            if tails(middle) > probability { low = middle } else { high = middle }
        }
        return high
    }

    /// The regularized incomplete beta function, by its continued fraction (Lentz's method), which
    /// converges fast where `x` is below the mean; on the other side the symmetry is used.
    private static func betaShare(_ x: Double, _ a: Double, _ b: Double) -> Double {
        guard x > 0 else { return 0 }
        guard x < 1 else { return 1 }
        guard x <= (a + 1) / (a + b + 2) else { return 1 - betaShare(1 - x, b, a) }
        let tiny = 1e-300
        func away(_ value: Double) -> Double { abs(value) < tiny ? tiny : value }
        var numerator = 1.0
        var denominator = 1 / away(1 - (a + b) * x / (a + 1))
        var fraction = denominator
        for step in 1...300 {
            let m = Double(step)
            let even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
            denominator = 1 / away(1 + even * denominator)
            numerator = away(1 + even / numerator)
            fraction *= denominator * numerator
            let odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
            denominator = 1 / away(1 + odd * denominator)
            numerator = away(1 + odd / numerator)
            let factor = denominator * numerator
            fraction *= factor
            if abs(factor - 1) < 1e-14 { break }
        }
        let scale = logGamma(a + b) - logGamma(a) - logGamma(b) + a * log(x) + b * log(1 - x)
        return exp(scale) * fraction / a
    }

    private static func logGamma(_ value: Double) -> Double {
        var sign: Int32 = 0
        return unsafe lgamma_r(value, &sign)
    }
}
