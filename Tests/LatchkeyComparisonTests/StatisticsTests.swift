import Foundation
import LatchkeyTestSupport
import Testing

@testable import LatchkeyComparison

@Suite(.offPool) struct StatisticsTests {
    @Test func `the interval of clusters holds the sign test's, and the clusters' medians`() {
        // Six of eight are left by the sign test: 1 of 2^7 is below the second.
        #expect(ClusteredMedian.interval([[1, 2, 3, 4, 5, 6, 7, 8]]) == (1, 8))
        #expect(ClusteredMedian.interval([(1...9).map(Double.init)]) == (2, 8))
        let apart = ClusteredMedian.interval([
            [Double](repeating: 1, count: 3), [Double](repeating: 2, count: 30),
            [Double](repeating: 3, count: 3),
        ])
        #expect(apart == (1, 3))
        // Two values are no cluster.
        let few = ClusteredMedian.interval([[1, 1], [Double](repeating: 2, count: 30)])
        #expect(few == (2, 2))
        #expect(ClusteredMedian.interval([]) == (0, 0))
    }

    @Test func `the median is the middle, or between the two in the middle`() {
        #expect(Statistics.median([3, 1, 2]) == 2)
        #expect(Statistics.median([4, 1, 2, 3]) == 2.5)
        #expect(Statistics.median([]) == 0)
    }

    @Test func `a quantile is a value that was there`() {
        let values = (1...100).map(Double.init)
        #expect(Statistics.quantile(0.5, sorted: values) == 50)
        #expect(Statistics.quantile(0.99, sorted: values) == 99)
        #expect(Statistics.quantile(1, sorted: values) == 100)
        #expect(Statistics.quantile(0, sorted: values) == 1)
    }

    @Test func `Jain's index is 1 for equal shares and 1 over n for one winner`() {
        #expect(Statistics.jainIndex([5, 5, 5, 5]) == 1)
        #expect(Statistics.jainIndex([8, 0, 0, 0]) == 0.25)
        #expect(Statistics.jainIndex([1, 3]) == 0.8)
        #expect(Statistics.jainIndex([0, 0]) == 1)
    }

    @Test func `an interval covers the true median about as often as it says`() async {
        // 200 samples of 15 values, evenly spread around 100.
        var random = SeededRandom(seed: 11)
        let covered = (0..<200).count { _ in
            let values = (0..<15).map { _ in Double.random(in: 50...150, using: &random) }
            let interval = ClusteredMedian.interval([values])
            return interval.low <= 100 && 100 <= interval.high
        }
        #expect((180...200).contains(covered), "\(covered) of 200")
    }

    @Test func `repeats of one thing overlap, and of two things far apart do not`() {
        let first = ComparisonReport.Spread([100, 103, 98, 101, 99])
        let same = ComparisonReport.Spread([99, 102, 97, 104, 100])
        let other = ComparisonReport.Spread([120, 123, 118, 121, 119])
        #expect(first.overlaps(same))
        #expect(same.overlaps(first))
        #expect(!first.overlaps(other))
        #expect(!other.overlaps(first))
    }

    @Test func `two groups of repeats are two modes`() throws {
        let modes = try #require(Modes([1_000, 31, 980, 29, 1_020]))
        #expect(modes.worse == 30)
        #expect(modes.better == 1_000)
    }

    @Test func `a repeat in which nothing was done belongs to the worse mode`() throws {
        let stopped = try #require(Modes([0, 0, 1e6, 1e6, 1e6]))
        #expect(stopped == Modes([0.5, 0.5, 1e6, 1e6, 1e6]))
        let slow = try #require(Modes([0, 40, 50, 1e6, 1e6]))
        #expect(slow.worse == 40)
        #expect(Modes([0, 0, 0, 0, 0]) == nil)
    }

    @Test(arguments: [
        [100, 101, 99, 102, 98],
        // One repeat alone is a disturbance.
        [1_000, 1_010, 990, 1_005, 30], [0.03, 6.03, 6.68, 7.23, 7.37],
        // Spread out, and nowhere a gap.
        [100, 150, 220, 330, 480, 700],
        // Too few.
        [1_000, 30, 1_000],
        // Groups, too near each other to matter.
        [100, 101, 120, 121],
    ])
    func `values that are spread otherwise have no modes`(values: [Double]) {
        #expect(Modes(values) == nil)
    }
}

@Suite(.offPool) struct SlowRepeatTests {
    @Test(
        arguments: [
            ([0.03, 6.03, 6.68, 7.23, 7.37], 0.03), ([1_000, 1_010, 990, 1_005, 30], 30),
            ([0, 1e6, 1e6, 1e6, 1e6], 0), ([100, 101, 102, 103, 60], 60),
        ] as [([Double], Double)]
    )
    func `one repeat far below all others is the slow one`(values: [Double], slow: Double) {
        #expect(SlowRepeat(values)?.value == slow)
    }

    @Test(arguments: [
        [100, 101, 99, 102, 98],
        // Two are a mode.
        [30, 31, 1_000, 1_010, 990],
        // As far apart as the others among themselves.
        [10, 20, 40, 30, 35],
        // Fast instead of slow.
        [100, 101, 99, 102, 1_000],
        // A third of all repeats is no exception.
        [30, 1_000, 1_001],
    ])
    func `anything else has none`(values: [Double]) {
        #expect(SlowRepeat(values) == nil)
    }

    @Test func `an interval leaves the slow repeat out at its lower end, and keeps the rest`() {
        let spread = ComparisonReport.Spread([6.03, 7.23, 0.03, 6.68, 7.37])
        #expect(spread.intervalLow == 6.03 && spread.intervalHigh == 7.37)
        #expect(spread.min == 0.03 && spread.median == 6.68)
        let modes = ComparisonReport.Spread([6.03, 7.23, 0.03, 0.04, 7.37, 7.1, 7, 7, 7])
        #expect(modes.intervalLow == 0.03, "two modes: which comes next is unknown")
    }

    @Test func `an interval never falls when a repeat gets faster`() async {
        var random = SeededRandom(seed: 3)
        let falls = (0..<100).count { _ in
            let slower = (0..<Int.random(in: 3...12, using: &random)).map { _ in
                Double.random(in: 1...100, using: &random)
            }.sorted()
            let faster = slower.map { $0 * Double.random(in: 1...1.01, using: &random) }
                .shuffled(using: &random)
            let (one, two) = (
                ClusteredMedian.interval([slower]), ClusteredMedian.interval([faster])
            )
            return two.low < one.low || two.high < one.high
        }
        #expect(falls == 0)
    }
}

/// Repeats of one second, or of this many, with these throughputs.
func repeats(
    _ rates: [Double],
    threads: Int = 1,
    seconds: Double = 1
) -> [ComparisonReport.Repeat] {
    rates.enumerated().map { index, rate in
        let operations = Int(rate * seconds)
        return ComparisonReport.Repeat(
            index: index,
            operations: operations,
            seconds: seconds,
            operationsPerThread: [Int](repeating: operations / threads, count: threads)
        )
    }
}

/// A case with these throughputs.
func measured(_ strategy: String, threads: Int, _ rates: [Double]) -> ComparisonReport.Case {
    let repeats = repeats(rates, threads: threads, seconds: 1_000)
    return ComparisonReport.Case(
        strategy: strategy,
        threads: threads,
        workload: workload(),
        repeats: repeats,
        summary: ComparisonReport.Summary(repeats)
    )
}
