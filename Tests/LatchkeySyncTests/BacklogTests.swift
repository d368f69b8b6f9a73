import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// Tests of the limit of asynchronous strategies, beside the laws.
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

    /// A queue keeps the empty block of a cancelled access until it comes to it.
    @Test func `cancelled accesses have a bound while a writer stays inside, issue 46`() async {
        let value = Synchronized(0, strategy: SerialQueueAsyncStrategy(backlogMax: 2))
        let (inside, leave) = (Gate(), Gate())
        let stay = { @Sendable (_: inout Int) in
            inside.open()
            _ = leave.pass()
        }
        try? value.submitWrite(stay, completion: {})
        let counts = await TestThread.result {
            inside.pass()
            return (0..<33).map { _ in
                let ended = Gate()
                let task = Task.immediate {
                    try? await value.asyncWrite(whenFull: .refuse) { $0 += 1 }
                    ended.open()
                }
                task.cancel()
                ended.pass()
                return value.backlogCount
            }
        }
        #expect(counts == Array(repeating: 1, count: 32) + [2])
        leave.open()
        #expect(await TestThread.result { eventually { value.backlogCount == 0 } })
        #expect(value.value == 0)
    }
}
