import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyComparison
@testable import LatchkeyReport

/// Runs with the least and the greatest that settings accept.
@Suite(.timeLimit(.minutes(15)), .serialized, .offPool)
struct EdgeValueTests {
    private func cases(
        _ change: (inout ComparisonSettings) -> Void
    ) async throws -> [ComparisonReport.Case] {
        var settings = ComparisonSettings()
        settings.strategies = [.lock, .barrierQueueAsync]
        settings.threads = [2]
        settings.durationSeconds = ComparisonBounds.durationSeconds.lowerBound
        settings.repeats = 1
        change(&settings)
        let run = try ComparisonRun(settings, version: "test")
        let report = try run.run().report
        #expect(!report.isInterrupted)
        #expect(report.verdicts.allSatisfy { $0.outcome == .passed }, "\(report.verdicts)")
        #expect(!report.conditions.findings.contains { $0.contains("lost updates") })
        for found in report.cases + report.baselines {
            #expect(found.repeats.count == 1)
            #expect(found.repeats[0].operationsPerThread.count == found.threads)
        }
        // Values that are not numbers must be written and read again, too.
        let read = try ComparisonReport(json: report.json(), source: "test")
        #expect(read.cases.count == report.cases.count)
        return report.cases
    }

    @Test func `as many threads as are accepted, for the shortest time`() async throws {
        let cases = try await cases {
            $0.strategies = [.lock]
            $0.threads = [ComparisonBounds.threadsMax]
        }
        #expect(cases.map(\.threads) == [256])
    }

    @Test func `more keys than a word has bits, and more stripes than keys`() async throws {
        let cases = try await cases {
            // No actor: its threads can be busy with other tests for longer than checks wait.
            $0.strategies = [.lock, .snapshot, .serialQueueAsync, .barrierQueueAsync]
            $0.keys = [3, 5_000]
            $0.skews = [.uniform, .zipf(exponent: 1.2)]
            $0.stripes = [1, 1_024]
        }
        #expect(cases.count == 32)
    }

    @Test func `nothing but reads, and nothing but writes`() async throws {
        let cases = try await cases { $0.readRatios = [0, 1] }
        #expect(cases.map(\.workload.readRatio) == [0, 0, 1, 1])
    }

    @Test func `a rate that no strategy keeps up with`() async throws {
        let cases = try await cases { $0.arrival = .open(operationsPerSecond: 1e9) }
        for found in cases {
            let durations = try #require(found.summary.responseFromIntendedStart)
            let due = 1e9 * ComparisonBounds.durationSeconds.lowerBound
            #expect(Double(durations.timedCount) >= due)
            #expect(found.repeats[0].cpuSeconds == nil, "it would be polling")
        }
    }

    /// An operation of 10 ms begins in the warm-up and ends after the 5 ms that are measured,
    /// unless the thread that controls them sleeps for too long.
    @Test func `a section longer than the slice lasts as long as it was to`() async throws {
        let cases = try await cases {
            $0.strategies = [.lock]
            $0.threads = [1]
            $0.sectionNanoseconds = [ComparisonBounds.workNanosecondsMax]
        }
        for measured in cases.flatMap(\.repeats) {
            #expect(measured.operations > 0 || measured.seconds == 0.005)
        }
    }
}
