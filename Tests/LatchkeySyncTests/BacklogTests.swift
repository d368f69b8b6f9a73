import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// What the laws do not say of the bound of asynchronous strategies.
@Suite(.timeLimit(.minutes(15)))
struct BacklogTests {
    @Test func `the standard bound is 4096 writes`() async {
        #expect(BacklogBound.standard == 4096)
        let violations = await TestThread.result {
            StrategyLaws.backlogIsBounded({ _ in SerialQueueAsyncStrategy() }, bound: 4096)
        }
        #expect(violations == [])
    }

    @Test func `a strategy that blocks has no backlog`() throws {
        let value = Synchronized<Int, LockStrategy>(0)
        try value.submitWrite({ $0 += 1 }, completion: {})
        #expect(value.backlogCount == 0)
    }
}
