import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// The laws catch what they are there to catch.
@Suite(.timeLimit(.minutes(15)), .serialized, .offPool)
struct KnownBadStrategyTests {
    @Test func `barriers on a global queue let a second writer in, and lose updates`() {
        let laws = StrategyLaws(blocking: { BarrierOnGlobalQueueStrategy() })
        #expect(isCaught { laws.writersExcludeEveryone() })
        #expect(isCaught { laws.noUpdateIsLost() })
    }

    @Test func `a torn spin lock loses updates, and shows half of a write`() {
        let laws = StrategyLaws(blocking: { TornSpinStrategy() })
        #expect(isCaught { laws.noUpdateIsLost() })
        #expect(isCaught { laws.readsAreWhole() })
    }

    @Test func `readers that only wait for writers do not keep them out`() {
        let laws = StrategyLaws(blocking: { RawLockStrategy<PassingReadersLock>() })
        #expect(isCaught { laws.readersExcludeWriters() })
    }

    @Test func `a try that always succeeds goes in while others are inside`() {
        #expect(StrategyLaws.triesAreRefused { RawLockStrategy<YesLock>() } != [])
    }

    @Test func `a try that waits is reported`() {
        let violations = StrategyLaws.triesAreRefused(
            { RawLockStrategy<WaitingTryLock>() },
            seconds: 0.2
        )
        #expect(violations != [])
    }

    @Test func `a strategy whose hold does nothing lets writers meet`() {
        #expect(isCaught { StrategyLaws.severalValuesAreHeld { HoldlessStrategy() } })
    }

    @Test func `a lock that gives up before the deadline is reported`() {
        let violations = StrategyLaws.deadlinesEndWaits { RawLockStrategy<HastyLock>() }
        #expect(violations.contains { $0.contains("gave up before its deadline") })
    }

    @Test func `a strategy that applies submitted writes later must say so, issue 17`() {
        let violations = StrategyLaws.writesApplyInOrder { TardyStrategy() }
        #expect(violations.contains { $0.contains("were not applied at once") }, "\(violations)")
    }

    @Test func `a strategy that does not ask for the condition is reported`() {
        let violations = StrategyLaws.conditionsAreWaitedFor { CarelessConditionStrategy() }
        #expect(violations.contains { $0.contains("its condition did not hold") })
        let tasks = StrategyLaws.tasksWaitForConditions { CarelessConditionStrategy() }
        #expect(tasks.contains { $0.contains("its condition did not hold") }, "\(tasks)")
    }

    @Test func `a reader that frees what writers replace is reported, issue 17`() async {
        let violations = StrategyLaws.readsFreeFewValues({ ReaderThatCleansUp() })
        #expect(violations.count == 2, "\(violations)")
        #expect(violations.allSatisfy { $0.contains("one read freed 500") }, "\(violations)")
    }

    @Test func `a lock that lets waiters in in another order is reported, issue 17`() async {
        for laws in [
            StrategyLaws(blocking: { RawLockStrategy<LastComeLock>() }),
            StrategyLaws(blocking: { RawLockStrategy<BargingLock>() }),
            StrategyLaws(blocking: { RawLockStrategy<ReadersFirstLock>() }),
        ] {
            #expect(await TestThread.result { laws.waitersEnterInOrder() } != [])
        }
    }

    @Test func `a lock whose try works only after a wait is reported`() async {
        let violations = StrategyLaws.functionsWorkAlone { RawLockStrategy<LateLock>() }
        #expect(violations.contains { $0.contains("tryWrite alone saw [nil, nil]") })
    }

    @Test func `a lock that lets in all threads at its first use is reported`() {
        let isReported = isCaught {
            StrategyLaws.functionsWorkAlone { RawLockStrategy<LateLock>() }
                .filter { $0.contains("write alone is wrong where threads meet") }
        }
        #expect(isReported)
    }

    @Test(arguments: [
        (LateObserver.Patience.untilWritersLeave, "a writer that stays inside"),
        (.onceWritersFollow, "writers that follow each other"),
    ])
    func `a reader that waits for writers is reported`(
        patience: LateObserver.Patience,
        finding: String
    ) async {
        let violations = StrategyLaws.readsTakeNoTime {
            LateReader(SnapshotStrategy(), by: LateObserver(patience))
        }
        #expect(violations.contains { $0.contains(finding) }, "\(violations)")
    }

    /// Why `actor` does not promise fair hand-off.
    @Test func `an actor lets tasks of higher priority overtake, issue 17`() async {
        let violations = StrategyLaws.orderOfTasks({ ActorStrategy() }, tasks: 40)
        #expect(violations != [])
    }

    /// Whether a law is broken in one of some attempts: these faults need two threads to meet.
    private func isCaught(_ law: () -> [StrategyLaws.Violation]) -> Bool {
        (0..<50).contains { _ in law() != [] }
    }
}
