import CLatchkeySystem
import Glibc
import LatchkeyTestSupport
import Testing

@testable import LatchkeyComparison

/// Operations that are due at a constant rate, and a guard that stalls at the edges of the slice.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct OpenLoopTests {
    private static let interval = 1e6
    private static let measuredNanoseconds: UInt64 = 50_000_000
    /// How many operations are due in the slice, or more if it lasted longer.
    private static let dueMin = 50

    private func durations(
        stall: @escaping @Sendable (StageClock) -> Void
    ) async throws -> (begun: ComparisonReport.Durations?, all: ComparisonReport.Durations?) {
        let slice = Slice(
            workload: workload(),
            plans: [OperationPlan(workload(), seed: 1)],
            cost: OperationCost(work: Work(seed: 1), sectionSteps: 1, outsideSteps: 1),
            warmUpNanoseconds: 2_000_000,
            measuredNanoseconds: Self.measuredNanoseconds,
            pace: .constant(interval: Self.interval)
        )
        let result = try slice.run { _, clock in AnyOperator(StallingOperator { stall(clock) }) }
        return (
            result.responses?.fromIntended.durations(),
            ComparisonReport.Repeat(result, index: 0, isPaced: true).responseFromIntendedStart
        )
    }

    @Test func `operations due during a stall that lasts to the end are in the response`()
        async throws
    {
        let (begun, all) = try await durations { clock in
            // Stalls once, in the first operation that it meets while measuring.
            while clock.isStill(.measuring) {
                sched_yield()
            }
        }
        let durations = try #require(all)
        #expect((begun?.timedCount ?? 0) <= 1)
        #expect(durations.timedCount >= Self.dueMin)
        #expect(durations.p50Nanoseconds > 0.4 * Double(Self.measuredNanoseconds))
    }

    @Test func `a stall that began in the warm-up delays what is due after it`() async throws {
        let (begun, all) = try await durations { clock in
            let until = Self.measuredNanoseconds / 2
            while !clock.isStill(.over) {
                let since = clock.measuringSince
                if since > 0, latchkey_system_nanoseconds() > since + until {
                    break
                }
                sched_yield()
            }
        }
        let durations = try #require(all)
        #expect(durations.timedCount >= Self.dueMin)
        #expect(durations.maxNanoseconds > 0.4 * Double(Self.measuredNanoseconds))
        // On a busy machine the slice may be over before the thread is back.
        if let begun {
            #expect(begun.maxNanoseconds > 0.4 * Double(Self.measuredNanoseconds))
        }
    }

    @Test func `operations that did not begin are counted by how long they waited`() {
        let late = UnbegunOperations(firstIntendedAt: 1_000, interval: 10, until: 1_095)
        #expect(late.count == 10)
        #expect(late.longest == 95)
        let waited = Array(stride(from: 5 as UInt64, through: 95, by: 10))
        #expect(late.sum == Double(waited.reduce(0, +)))
        for bound in 0...120 as ClosedRange<UInt64> {
            let expected = waited.count { $0 <= bound }
            #expect(late.count(upTo: bound) == UInt64(expected))
        }
        #expect(UnbegunOperations(firstIntendedAt: 9, interval: 10, until: 9).count == 0)
        #expect(UnbegunOperations(firstIntendedAt: 10, interval: 10, until: 9).count == 0)
    }

    @Test func `a rate that no strategy keeps up with costs nothing to account for`() throws {
        let minute = 60_000_000_000 as UInt64
        let late = UnbegunOperations(firstIntendedAt: 0, interval: 1, until: minute)
        let durations = try #require(ResponseTimes().durations(unbegun: [late]))
        #expect(durations.timedCount == Int(minute))
        #expect(abs(durations.p50Nanoseconds / 30e9 - 1) < 0.07)
        #expect(abs(durations.meanNanoseconds / 30e9 - 1) < 0.01)
        #expect(durations.maxNanoseconds == 60e9)
    }
}

/// Does nothing but to call `stall` in every operation, which decides whether it is time for one.
private struct StallingOperator: Operator {
    private let stall: () -> Void

    init(_ stall: @escaping () -> Void) {
        self.stall = stall
    }

    mutating func perform(
        _ operation: PlannedOperation,
        number: Int,
        timing: ResponseTiming?
    ) -> UInt64 {
        stall()
        timing?.end()
        return 0
    }
}
