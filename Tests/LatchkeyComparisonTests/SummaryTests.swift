import LatchkeyTestSupport
import Testing

@testable import LatchkeyComparison

/// How a report sums up several repeats.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct SummaryTests {
    @Test func `repeats of two modes are marked and summed up as such`() {
        let repeats = repeats([100, 102, 400, 101, 410])
        let summary = ComparisonReport.Summary(repeats)
        #expect(summary.isBistable)
        #expect(summary.modesOperationsPerSecond == [101, 405])
        #expect(!ComparisonReport.Summary(Array(repeats.prefix(2))).isBistable)
    }

    @Test func `the cost of metering is found from the ratio of the two slices`() async {
        let cost = ComparisonReport.InstrumentCost.measure(
            metered: [(100, [0.5, 0.8, 0.9]), (200, [0.8]), (300, [0.9])],
            systemCallsMissing: "because"
        )
        // 25, 50 and 33.3.
        #expect(abs(cost.meteringNanosecondsPerOperation - 100.0 / 3) < 1e-6)
        #expect(cost.clockNanoseconds > 0)
        #expect(cost.loopNanosecondsPerOperation > 0)
        #expect(cost.systemCallsMissingBecause == "because")
        let faster = ComparisonReport.InstrumentCost.measure(
            metered: [(100, [1.1])],
            systemCallsMissing: nil
        )
        #expect(faster.meteringNanosecondsPerOperation == 0, "a meter does not speed things up")
    }
}
