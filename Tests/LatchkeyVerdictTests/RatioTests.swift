import Foundation
import LatchkeyTestSupport
import Testing

@testable import LatchkeyVerdict

/// The ratio of two strategies, and how sure it is.
struct RatioTests {
    /// Rounds after each repeat, of two strategies with this true ratio.
    ///
    /// `shared` disturbs both, `repeats` one repeat of one strategy, and `rounds` one slice of it.
    private func pair(
        _ ratio: Double,
        repeats count: Int = 5,
        shared: Double = 0.3,
        repeats: Double = 0.03,
        rounds: Double = 0.1,
        _ draw: inout Draw
    ) -> (VerdictTable.Figures, VerdictTable.Figures) {
        var (one, other): ([Int: [Double?]], [Int: [Double?]]) = ([:], [:])
        for index in 0..<count {
            let (own, theirs) = (repeats * draw.normal(), repeats * draw.normal())
            for _ in 0..<9 {
                let both = shared * draw.normal()
                one[index, default: []].append(exp(both + own + rounds * draw.normal()) * ratio)
                other[index, default: []].append(exp(both + theirs + rounds * draw.normal()))
            }
        }
        func figures(_ slices: [Int: [Double?]]) -> VerdictTable.Figures {
            let all = slices.values.flatMap { $0 }.compactMap(\.self).sorted()
            return .init(speed: all[all.count / 2], repeats: [:], rounds: slices)
        }
        return (figures(one), figures(other))
    }

    @Test func `the ratio of B to A is the inverse of that of A to B, and in its own interval`() {
        var draw = Draw(1)
        for count in [1, 2, 3, 5, 10] {
            let (one, other) = pair(1.3, repeats: count, &draw)
            let (ratio, inverse) = (Ratio(one, other), Ratio(other, one))
            #expect(abs(ratio.value * inverse.value - 1) < 1e-9)
            #expect(ratio.inverse.low.isEqual(to: inverse.low, within: 1e-9))
            #expect(ratio.inverse.high.isEqual(to: inverse.high, within: 1e-9))
            #expect(ratio.low <= ratio.value && ratio.value <= ratio.high)
        }
    }

    @Test func `fewer than three repeats have no interval, however equal they are`() {
        for count in 1...2 {
            let ratio = Ratio(
                .repeats([Double](repeating: 2, count: count)),
                .repeats([Double](repeating: 1, count: count))
            )
            #expect(ratio == Ratio(value: 2, low: 0, high: .infinity))
        }
    }

    @Test func `a disturbance of a round hits both, and cancels in the ratios within it`() {
        let rates = [6e6, 3e6, 5.9e6, 3.1e6, 6.1e6]
        let ratio = Ratio(.repeats(rates.map { 1.3 * $0 }), .repeats(rates))
        #expect(ratio.low > 1.299 && ratio.high < 1.301)
    }

    @Test func `a slice that does not count decides nothing, and without rounds repeats do`() {
        var (one, other) = (VerdictTable.Figures.steady(2), VerdictTable.Figures.steady(1))
        for index in 0..<5 {
            one.rounds[index] = [1.5, 1.5, 1.5, nil, 99]
            other.rounds[index] = [1, 1, 1, 1, nil]
        }
        one.speed = 1.5
        let ratio = Ratio(one, other)
        #expect(abs(ratio.low - 1.5) < 1e-9 && abs(ratio.high - 1.5) < 1e-9)
        for index in 0..<3 { one.rounds[index] = [1.5, 1.5, nil, nil, 99] }
        #expect(Ratio(one, other).low > 1.9, "two rounds have no median")
    }

    /// The widening is calibrated with recorded rounds; this checks it with drawn ones.
    @Test(arguments: [(3, 0.0), (5, 0.0), (10, 0.0), (5, 0.1)])
    func `19 of 20 intervals hold the truth`(count: Int, repeats: Double) {
        var draw = Draw(UInt64(count))
        let runs = Depth.count(400, deep: 4_000)
        let held = (0..<runs).count { _ in
            let (one, other) = pair(1.2, repeats: count, repeats: 0.02 + repeats, &draw)
            let ratio = Ratio(one, other)
            return ratio.low <= 1.2 && 1.2 <= ratio.high
        }
        #expect(Double(held) >= 0.93 * Double(runs), "\(held) of \(runs)")
        #expect(held < runs, "an interval that holds everything says nothing")
    }

    @Test func `over several cases, what disturbs all of them does not become more certain`() {
        var draw = Draw(7)
        let disturbed = (0..<5).map { _ in exp(0.1 * draw.normal()) }
        let apart = (0..<8).map { _ in (0..<5).map { _ in exp(0.1 * draw.normal()) } }
        func width(_ cases: [[Double]]) -> Double {
            let ratio = Ratio(
                over: cases.map { Ratio.Pairing(.repeats($0), .repeats($0.map { _ in 1 })) }
            )
            return log(ratio.high / ratio.low)
        }
        let one = width([disturbed])
        #expect(width([[Double]](repeating: disturbed, count: 8)).isEqual(to: one, within: 1e-9))
        #expect(width(apart) < 0.6 * one)
    }

    @Test func `two runs err as often as is said, in all figures together`() {
        var (draw, erring) = (Draw(3), 0)
        let runs = Depth.count(100, deep: 1_000)
        for _ in 0..<runs {
            func logs() -> [[Int: Double]] {
                [Dictionary(uniqueKeysWithValues: (0..<5).map { ($0, 0.03 * draw.normal()) })]
            }
            let pairs = (0..<60).map { _ in (logs(), logs()) }
            let errors = pairs.map { Ratio.error(before: $0, after: $1) }.sorted()
            let isErring = pairs.contains { before, after in
                let ratio = Ratio(
                    before: before,
                    after: after,
                    errorMin: errors[30],
                    comparisonCount: pairs.count
                )
                return ratio.low > 1 || ratio.high < 1
            }
            erring += isErring ? 1 : 0
        }
        #expect(Double(erring) <= 0.06 * Double(runs) + 2, "\(erring) of \(runs)")
        let same = [[0: 0, 1: 0.01, 2: -0.01, 3: 0.02, 4: -0.02]]
        #expect(Ratio(before: same, after: same).value == 1)
    }

    /// The side with few values has nearly all of the error.
    @Test(arguments: [(25, 3), (3, 25), (25, 5)])
    func `many values against few err as often as is said`(before: Int, after: Int) {
        var draw = Draw(11)
        func logs(_ count: Int) -> [[Int: Double]] {
            [Dictionary(uniqueKeysWithValues: (0..<count).map { ($0, 0.03 * draw.normal()) })]
        }
        let runs = Depth.count(1_000, deep: 10_000)
        let erring = (0..<runs).count { _ in
            let ratio = Ratio(before: logs(before), after: logs(after))
            return ratio.low > 1 || ratio.high < 1
        }
        #expect(Double(erring) <= 0.06 * Double(runs), "\(erring) of \(runs)")
        #expect(erring > 0, "an interval that holds everything says nothing")
    }

    @Test func `one value is taken to vary as those of the other side do`() {
        var draw = Draw(12)
        let many = [Dictionary(uniqueKeysWithValues: (0..<8).map { ($0, 0.03 * draw.normal()) })]
        let ratio = Ratio(before: many, after: [[0: 0.05]])
        let other = Ratio(before: many, after: [[0: 0.5]])
        #expect(ratio.low < 1 && ratio.high > 1 && other.low > 1)
        #expect(Ratio(before: [[0: 0]], after: [[0: 1]]).low == 0)
    }
}

extension Double {
    fileprivate func isEqual(to other: Double, within tolerance: Double) -> Bool {
        self == other || abs(self / other - 1) < tolerance
    }
}
