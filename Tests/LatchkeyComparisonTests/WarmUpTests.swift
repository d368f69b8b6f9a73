import CLatchkeySystem
import Glibc
import LatchkeyContention
import LatchkeyStrategies
import LatchkeyTestSupport
import Synchronization
import Testing

@testable import LatchkeyComparison

@Suite(.timeLimit(.minutes(15)), .offPool)
struct WarmUpTests {
    @Test func `neither operations nor waits of the warm-up are in the figures`() async throws {
        let workload = workload(readRatio: 0)
        let started = Guarded<StageClock?>(nil)
        let slice = Slice(
            workload: workload,
            plans: [OperationPlan(workload, seed: 1)],
            cost: OperationCost(work: Work(seed: 1), sectionSteps: 1, outsideSteps: 1),
            warmUpNanoseconds: 1_000_000,
            measuredNanoseconds: 10_000_000,
            isMetered: true,
            isInterrupted: {
                let isWarmingUp = started.read { $0.map { !$0.isStill(.arriving) } ?? false }
                guard isWarmingUp else { return false }
                // So the warm-up lasts until there was enough to forget.
                while QuickAtFirstLock.lockedCount < QuickAtFirstLock.quickCount {
                    sched_yield()
                }
                return false
            }
        )
        let meter = try #require(slice.meter(QuickAtFirstStrategy.traits, as: "quick-at-first"))
        let strategy = meter.metered(QuickAtFirstStrategy())
        let guarded = Synchronized(OneValue(count: 1), strategy: strategy)
        let section = SyntheticSection<OneValue>(slice)
        let output = try slice.run(meter) { _, clock in
            started.write { $0 = clock }
            return AnyOperator(OneStripeOperator(guarded, section))
        }
        let tally = output.tallies[0]
        #expect(tally.operationsInAll >= QuickAtFirstLock.quickCount)
        #expect(tally.operations <= tally.operationsInAll - QuickAtFirstLock.quickCount)
        let row = try #require(output.contention)
        let left = QuickAtFirstLock.lockedCount - QuickAtFirstLock.quickCount
        #expect(row.acquisitions.all <= UInt64(left))
        // One in eight of thousands, if those of the warm-up were in it.
        #expect((row.wait.all?.timedCount ?? 0) <= UInt64(left))
    }
}

extension WarmUpTests {
    @Test(arguments: [(false, 100_000_000, 1_000_000_000), (true, 50_000_000, 250_000_000)])
    func `a slice warms up for a share of its repeat's duration`(
        isMetered: Bool,
        warmUp: UInt64,
        measured: UInt64
    ) async {
        var settings = ComparisonSettings()
        settings.durationSeconds = 1
        let schedule = Schedule(settings)
        let slice = MemoryComparison(settings, schedule)
            .slice(schedule.cases[0], repeatIndex: 0, isMetered: isMetered)
        #expect(slice.warmUpNanoseconds == warmUp)
        #expect(slice.measuredNanoseconds == measured)
    }
}

/// Quick for the first thousands of acquisitions, and so slow afterwards that there are few.
private typealias QuickAtFirstStrategy = RawLockStrategy<QuickAtFirstLock>

/// For one thread at a time only, which is what the test has.
private struct QuickAtFirstLock: RawLock {
    static var rawLockPromise: Promise<Self> { unsafe .unchecked() }
    static var traits: StrategyTraits { StrategyTraits() }

    static let quickCount = 8_000
    private static let slowNanoseconds: UInt64 = 1_000_000
    private static let locked = Atomic<Int>(0)

    static var lockedCount: Int { locked.load(ordering: .relaxed) }

    func lock() {
        let number = Self.locked.add(1, ordering: .relaxed).newValue
        guard number > Self.quickCount else { return }
        let end = latchkey_system_nanoseconds() + Self.slowNanoseconds
        while latchkey_system_nanoseconds() < end {}
    }

    func tryLock() -> Bool { false }

    func unlock() {}
}
