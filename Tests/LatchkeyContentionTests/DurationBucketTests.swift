import LatchkeyMetrics
import Testing

@testable import LatchkeyContention

@Suite struct DurationBucketTests {
    @Test func `each bound is in the bucket that it ends, and the next value in the next`() {
        let bounds = DurationBuckets.bounds.values
        #expect(bounds.count == 28)
        #expect(bounds.first == 100)
        #expect(bounds.last == 13_421_772_800)
        #expect(DurationBuckets.index(0) == 0)
        for (index, bound) in bounds.enumerated() {
            #expect(DurationBuckets.index(bound) == index)
            #expect(DurationBuckets.index(bound + 1) == index + 1)
        }
        #expect(DurationBuckets.index(.max) == DurationBuckets.count - 1)
    }

    static func buckets(_ counts: [Int: UInt64]) -> [UInt64] {
        (0..<DurationBuckets.count).map { counts[$0] ?? 0 }
    }

    @Test(arguments: [0.01, 0.5, 0.9, 0.99, 1])
    func `in the first bucket a quantile is an upper bound`(share: Double) {
        let buckets = Self.buckets([0: 1000])
        #expect(DurationBuckets.quantile(share, of: buckets, max: 100) == 100)
        #expect(DurationBuckets.quantile(share, of: buckets, max: 60) == 60)
        let mixed = Self.buckets([0: 1000, 4: 1])
        #expect(DurationBuckets.quantile(share * 0.99, of: mixed, max: 1_500) == 100)
    }

    @Test(arguments: [
        (0.5, 100), (0.75, 300), (0.9, 360), (1.0, 400),
    ])
    func `values of several buckets are found by their rank`(share: Double, nanoseconds: UInt64) {
        // Half up to 100 ns, half from 200 to 400 ns.
        let buckets = Self.buckets([0: 50, 2: 50])
        #expect(DurationBuckets.quantile(share, of: buckets, max: 400) == nanoseconds)
    }

    @Test func `nothing is above the longest, which is the answer above the last bound`() {
        #expect(DurationBuckets.quantile(0.5, of: Self.buckets([:]), max: 0) == nil)
        #expect(DurationBuckets.quantile(0.99, of: Self.buckets([2: 1]), max: 250) == 250)
        let buckets = Self.buckets([0: 1, 28: 1])
        #expect(DurationBuckets.quantile(0.99, of: buckets, max: 99_000_000_000) == 99_000_000_000)
    }

    @Test func `a maximum is of its period only`() {
        let early = PeriodMax.pack(period: 7, nanoseconds: 900)
        let late = PeriodMax.pack(period: 8, nanoseconds: 3)
        #expect(late > early)
        #expect(PeriodMax.unpack(early, period: 7) == 900)
        #expect(PeriodMax.unpack(early, period: 8) == 0)
        #expect(PeriodMax.unpack(late, period: 8) == 3)
        #expect(PeriodMax.unpack(0, period: 1) == 0)
        let long = PeriodMax.pack(period: 1, nanoseconds: .max)
        #expect(PeriodMax.unpack(long, period: 1) == PeriodMax.durationMax)
    }
}
