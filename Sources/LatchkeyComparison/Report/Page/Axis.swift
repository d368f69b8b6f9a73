internal import Foundation

/// Maps figures to places on a plot.
struct Axis {
    /// Above this ratio of the greatest to the least figure a linear axis shows only the greatest.
    private static let linearRatioMax = 12.0

    let isLogarithmic: Bool
    private let low: Double
    private let high: Double
    private let start: Double
    private let end: Double

    /// An axis for figures, logarithmic where they differ too much for a linear one: the least is
    /// at `start`, the greatest at `end`.
    init(_ values: [Double], from start: Double, to end: Double) {
        let positive = values.filter { $0 > 0 && $0.isFinite }
        let least = positive.min() ?? 1
        let greatest = positive.max() ?? 1
        isLogarithmic = greatest > least * Self.linearRatioMax
        low = isLogarithmic ? least / 1.15 : 0
        high = isLogarithmic ? greatest * 1.15 : greatest * 1.05
        (self.start, self.end) = (start, end)
    }

    /// An axis from 0 to 1.
    init(shareFrom start: Double, to end: Double) {
        isLogarithmic = false
        (low, high) = (0, 1)
        (self.start, self.end) = (start, end)
    }

    /// An axis for counts that grow by factors, such as threads: its first value is at `start`.
    init(steps: [Double], from start: Double, to end: Double) {
        let least = steps.first ?? 1
        let greatest = steps.last ?? 1
        isLogarithmic = least > 0
        low = least
        high = greatest > least ? greatest : least + 1
        (self.start, self.end) = (start, end)
    }

    func place(_ value: Double) -> Double {
        let ratio =
            isLogarithmic
            ? log(max(value, low) / low) / log(high / low) : (value - low) / (high - low)
        return start + (end - start) * min(max(ratio, 0), 1)
    }

    /// Round values inside the axis, about `count` of them.
    func ticks(_ count: Int) -> [Double] {
        if isLogarithmic, high / low >= 10 {
            let decades = Int(log10(low).rounded(.down))...Int(log10(high).rounded(.up))
            let stride = max(1, decades.count / count)
            let factors = decades.count <= count - 1 ? [1.0, 3] : [1]
            return decades.filter { $0 % stride == 0 }.flatMap { decade in
                factors.map { $0 * pow(10, Double(decade)) }
            }.filter(contains)
        }
        let raw = (high - low) / Double(max(1, count))
        let power = pow(10, log10(raw).rounded(.down))
        let step = [1, 2, 5, 10].map { $0 * power }.first { $0 >= raw } ?? raw
        let first = (low / step).rounded(.up)
        return (0...2 * count).map { (first + Double($0)) * step }.filter(contains)
    }

    private func contains(_ value: Double) -> Bool {
        value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)
    }
}
