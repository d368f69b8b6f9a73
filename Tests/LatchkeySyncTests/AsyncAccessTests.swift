import Glibc
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// Tests of the access functions for tasks, beside the laws.
///
/// In the same serialized suite, because a body that waits at a gate has one of the few threads on
/// which queues run.
extension StrategyLawTests {
    @Test func `reads that are submitted to an actor are bounded, issue 10`() async {
        let value = Synchronized(0, strategy: ActorStrategy(backlogMax: 3))
        let (inside, leave, completed) = (Gate(), Gate(), Arrivals())
        let stay = { @Sendable (_: Int) in
            inside.open()
            _ = leave.pass()
        }
        TestThread { try? value.submitRead(stay, completion: { completed.arrive() }) }
        let refused = await TestThread.result {
            inside.pass()
            return (0..<10).count { _ in
                (try? value.submitRead({ _ in }, completion: { completed.arrive() })) == nil
            }
        }
        #expect(refused == 8)
        // Writes are counted apart.
        try? value.submitWrite({ $0 += 1 }, completion: { completed.arrive() })
        #expect(value.backlogCount == 1)
        leave.open()
        #expect(await TestThread.result { completed.wait(for: 4) })
    }

    @Test func `a read after a waiting write keeps its place when the write is cancelled`() async {
        let value = Synchronized(0, strategy: ActorStrategy(backlogMax: 1))
        let (inside, leave) = (Gate(), Gate())
        let stay = { @Sendable (_: inout Int) in
            inside.open()
            _ = leave.pass()
        }
        TestThread { try? value.submitWrite(stay, completion: {}) }
        let read = Arrivals()
        let isWaiting = await TestThread.result {
            inside.pass()
            let write = Task.immediate { try await value.asyncWrite { $0 += 1 } }
            let reader = Task.immediate { try await value.asyncRead { _ in read.arrive() } }
            write.cancel()
            _ = reader
            // The read has room now, and waits for the actor: another one is refused.
            return eventually {
                (try? value.submitRead({ _ in }, completion: { read.arrive() })) == nil
            }
        }
        #expect(isWaiting)
        leave.open()
        #expect(await TestThread.result { read.wait(for: 1) })
    }

    @MainActor
    @Test(arguments: StrategyKind.allCases.filter { $0.traits.blocksCaller })
    func `a body that runs in place does not leave the caller's actor`(
        kind: StrategyKind
    ) async throws {
        if !kind.traits.appliesWritesAsynchronously {
            let value = AnySynchronized<Int>(0, kind: kind)
            let thread = pthread_self()
            #expect(try await value.asyncWrite { _ in pthread_self() } == thread)
        }
    }
}
