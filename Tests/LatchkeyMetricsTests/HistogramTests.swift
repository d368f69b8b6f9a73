import Testing

@testable import LatchkeyMetrics

@Suite struct Histograms {
    @Test func `put a value that equals a bound into the bucket it ends`() {
        let histogram = Histogram(bounds: HistogramBounds([10, 20], scale: .one))
        for value: UInt64 in [0, 10, 11, 20, 21, .max] { histogram.observe(value) }
        #expect(histogram.reading.buckets == [2, 2, 2])
    }

    @Test func `count a weighted value so many times`() {
        let histogram = Histogram(bounds: HistogramBounds([10], scale: .nanosecondsInSeconds))
        histogram.observe(7, weight: 1000)
        #expect(histogram.reading == HistogramReading(buckets: [1000, 0], sum: 7e-6))
    }

    @Test func `have bounds that ascend`() async {
        await #expect(processExitsWith: .failure) {
            _ = HistogramBounds([2, 1], scale: .one)
        }
        await #expect(processExitsWith: .failure) {
            _ = HistogramBounds([], scale: .one)
        }
    }
}
