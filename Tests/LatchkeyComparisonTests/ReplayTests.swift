import CLatchkeySystem
import Glibc
import LatchkeyStrategies
import LatchkeySyncTesting
import LatchkeyTestSupport
import LatchkeyTrace
import Testing

@testable import LatchkeyComparison

/// The replay of a trace: which operations, when, and what is late.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct ReplayTests {
    private static func trace(_ records: [TraceRecord]) throws -> Trace {
        var bytes = TraceHeader(sampleInterval: 16, startedMilliseconds: 0).bytes
        for record in records { record.append(to: &bytes) }
        return try Trace(bytes)
    }

    private static func record(
        _ milliseconds: Double,
        _ key: UInt32,
        _ kind: TraceRecord.Kind
    ) -> TraceRecord {
        TraceRecord(nanoseconds: 1000 + UInt64(milliseconds * 1e6), key: key, kind: kind)
    }

    /// One operation in each millisecond, every fourth a write, on three keys.
    private static func steady(milliseconds: Int) throws -> Trace {
        try trace(
            (0..<milliseconds).map { index in
                record(Double(index), UInt32(index % 3), index % 4 == 0 ? .put : .get)
            }
        )
    }

    @Test func `keys are numbered as they come, and times count from the first one`() throws {
        let trace = try Self.trace([
            Self.record(0, 77, .get), Self.record(1, 5, .put), Self.record(1, 0, .list),
            Self.record(4, 77, .increment), Self.record(6, 9, .delete), Self.record(6, 5, .merge),
        ])
        let replayed = ReplayedTrace(trace, file: "a", speed: 2)
        #expect(replayed.operations.map(\.key) == [0, 1, 0, 0, 2, 1])
        #expect(replayed.operations.map(\.kind.isWrite) == [false, true, false, true, true, true])
        #expect(
            replayed.operations.map(\.dueNanoseconds)
                == [0, 500_000, 500_000, 2_000_000, 3_000_000, 3_000_000]
        )
        #expect(replayed.keyCount == 3)
        #expect(replayed.periodNanoseconds == 3_600_000)
    }

    @Test func `the settings have the workload of the trace`() throws {
        let replayed = ReplayedTrace(try Self.steady(milliseconds: 1100), file: "a", speed: 1)
        var settings = ComparisonSettings()
        settings.durationSeconds = 10
        replayed.apply(to: &settings)
        #expect(abs(settings.durationSeconds - 1) < 0.001)
        #expect(settings.readRatios == [0.75])
        #expect(settings.keys == [3])
        guard case .recorded(let rate) = settings.arrival else {
            Issue.record("not recorded")
            return
        }
        #expect(abs(rate - 1000) < 2)
        #expect(Arrival(rawValue: settings.arrival.rawValue) == settings.arrival)
        settings.durationSeconds = 0.5
        replayed.apply(to: &settings)
        #expect(settings.durationSeconds == 0.5)
        try settings.validate()
    }

    @Test func `a trace of too few operations, or of no length, is refused`() throws {
        let atOnce = try Self.trace((0..<500).map { _ in Self.record(0, 1, .get) })
        for (trace, sentence) in [
            (try Self.steady(milliseconds: 90), "--trace has fewer than 100 operations"),
            (atOnce, "--trace is too short"),
        ] {
            var settings = ComparisonSettings()
            ReplayedTrace(trace, file: "a", speed: 1).apply(to: &settings)
            let error = #expect(throws: ComparisonError.self) { try settings.validate() }
            #expect(error?.message.hasPrefix(sentence) == true)
        }
    }

    @Test func `times at the end of the range are taken`() throws {
        let trace = try Self.trace([
            Self.record(0, 1, .get),
            TraceRecord(nanoseconds: .max, key: 2, kind: .put),
        ])
        let replayed = ReplayedTrace(trace, file: "a", speed: 0.001)
        #expect(replayed.operations.last?.dueNanoseconds == 1_000_000_000_000_000_000)
        let plan = OperationPlan(replayed, 0, of: 1, stripes: 1)
        #expect(plan.dueNanoseconds(3) > plan.dueNanoseconds(2))
    }

    @Test(arguments: [1, 2, 5])
    func `threads take the operations in turn, and begin again at the end`(threads: Int) throws {
        let replayed = ReplayedTrace(try Self.steady(milliseconds: 3), file: "a", speed: 1)
        let plans = (0..<threads).map { OperationPlan(replayed, $0, of: threads, stripes: 2) }
        #expect(plans.map(\.operations.count).reduce(0, +) == 3)
        for (thread, plan) in plans.enumerated() where !plan.operations.isEmpty {
            #expect(plan.operations[0].key(stripes: 2) == replayed.operations[thread].key)
            #expect(plan.dueNanoseconds(0) == UInt64(thread) * 1_000_000)
            let count = plan.operations.count
            #expect(plan.dueNanoseconds(count) == plan.dueNanoseconds(0) + 3_000_000)
        }
        var writes = [UInt64](repeating: 0, count: 3)
        for plan in plans {
            plan.addWrites(among: 2 * plan.operations.count, stripes: 2, to: &writes)
        }
        #expect(writes == [2, 0, 0])
    }

    /// Notes when each measured operation was due and began, and how many the warm-up did.
    private struct NotingOperator: Operator {
        let noted: Collected<[ResponseTiming]>
        let warmUp: Collected<Int>
        var stall: () -> Void = {}

        mutating func perform(
            _ operation: PlannedOperation,
            number: Int,
            timing: ResponseTiming?
        ) -> UInt64 {
            guard let timing else {
                warmUp.with { $0 += 1 }
                return 0
            }
            noted.with { $0.append(timing) }
            stall()
            timing.end()
            return 0
        }
    }

    private static func slice(_ replayed: ReplayedTrace) -> Slice {
        Slice(
            workload: workload(),
            plans: [OperationPlan(replayed, 0, of: 1, stripes: 1)],
            cost: OperationCost(work: Work(seed: 1), sectionSteps: 1, outsideSteps: 0),
            warmUpNanoseconds: 20_000_000,
            measuredNanoseconds: 60_000_000,
            pace: .recorded
        )
    }

    @Test func `no operation begins before it is due`() async throws {
        // Twenty at once, then a pause: no rhythm that a constant rate could have.
        let bursts = try Self.trace(
            (0..<120).map { Self.record(Double($0 / 20 * 20), UInt32($0), .get) }
        )
        let replayed = ReplayedTrace(bursts, file: "a", speed: 1)
        let noted = Collected<[ResponseTiming]>([])
        let warmUp = Collected(0)
        let result = try Self.slice(replayed).run { _, _ in
            AnyOperator(NotingOperator(noted: noted, warmUp: warmUp))
        }
        let timings = noted.with { $0 }
        #expect(timings.allSatisfy { $0.startedAt >= $0.intendedAt })
        let gaps = zip(timings, timings.dropFirst()).map { $1.intendedAt - $0.intendedAt }
        #expect(Set(gaps).isSubset(of: [0, 20_000_000]))
        #expect(result.operations == timings.count)
        #expect(result.operations + warmUp.with { $0 } >= 20, "the first burst at least")
        let delays = result.responses?.startDelays.durations()
        #expect((delays?.timedCount ?? 0) == result.operations)
    }

    @Test func `operations that were due during a stall count with the time that they waited`()
        async throws
    {
        let replayed = ReplayedTrace(try Self.steady(milliseconds: 200), file: "a", speed: 1)
        let warmUp = Collected(0)
        let result = try Self.slice(replayed).run { _, clock in
            AnyOperator(
                NotingOperator(noted: Collected([]), warmUp: warmUp) {
                    while clock.isStill(.measuring) {
                        sched_yield()
                    }
                }
            )
        }
        #expect(result.operations <= 1)
        // Due within 80 ms, less those of a warm-up that a busy machine made longer than 20 ms.
        let due = 80 - warmUp.with { $0 }
        guard due > 0 else { return }
        let responses = try #require(result.responses?.fromIntended.durations())
        #expect(responses.timedCount >= due)
        // One in each millisecond, and all wait until the end: half of them for half of the time.
        #expect(responses.p50Nanoseconds > Double(due / 2 - 1) * 1e6)
    }

    @Test func `a run replays the trace under each strategy and finds no lost update`() async throws
    {
        let replayed = ReplayedTrace(try Self.steady(milliseconds: 250), file: "a.trace", speed: 1)
        var settings = ComparisonSettings()
        // No actor: its threads can be busy with other tests for longer than the check waits.
        settings.strategies = [.lock, .serialQueueAsync]
        settings.threads = [2]
        settings.durationSeconds = 0.15
        settings.repeats = 1
        replayed.apply(to: &settings)
        let run = try ComparisonRun(settings, version: "test", trace: replayed)
        let report = try run.run().report
        #expect(report.cases.map(\.strategy) == ["lock", "serial-queue-async"])
        for found in report.cases {
            let measured = found.repeats[0]
            #expect(measured.responseFromIntendedStart != nil)
            #expect(measured.startDelay != nil)
            #expect(found.workload.keys == 3)
        }
        #expect(report.verdicts.allSatisfy { $0.outcome == .passed })
        #expect(report.settings.trace?.file == "a.trace")
    }
}
