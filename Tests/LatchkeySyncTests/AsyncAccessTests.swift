import Glibc
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// The laws of the access functions for tasks.
///
/// In the same serialized suite, because a body that waits at a gate has one of the few threads on
/// which queues run.
extension StrategyLawTests {
    @Test(arguments: StrategyKind.allCases)
    func `tasks that wait for room lose no update, issue 10`(kind: StrategyKind) async {
        #expect(await TestThread.result { kind.accept(WaitingTasksLoseNoUpdate()) } == [])
    }

    @Test(arguments: StrategyKind.allCases)
    func `a cancelled task does not enter`(kind: StrategyKind) async {
        #expect(await TestThread.result { kind.accept(CancelledTasksDoNotEnter()) } == [])
    }

    @Test(arguments: StrategyKind.allCases)
    func `a task sees its writes`(kind: StrategyKind) async {
        #expect(await TestThread.result { kind.accept(TasksSeeTheirWrites()) } == [])
    }

    @Test(arguments: asynchronousKinds, [1, 2, 7])
    func `a task that does not want to wait is refused at the bound`(
        kind: StrategyKind,
        bound: Int
    ) async {
        let violations = await TestThread.result { kind.accept(TasksAreRefused(bound: bound)) }
        #expect(violations == [])
    }

    @Test(arguments: asynchronousKinds)
    func `tasks that wait for room enter in the order in which they asked`(
        kind: StrategyKind
    ) async {
        #expect(await TestThread.result { kind.accept(WaitingTasksEnterInOrder()) } == [])
    }

    @Test(arguments: asynchronousKinds)
    func `a task that waits for room is cancelled at once`(kind: StrategyKind) async {
        #expect(await TestThread.result { kind.accept(WaitingTasksAreCancelled()) } == [])
    }

    @Test(arguments: asynchronousKinds)
    func `a task that was accepted and is cancelled does not enter`(kind: StrategyKind) async {
        #expect(await TestThread.result { kind.accept(AcceptedTasksAreCancelled()) } == [])
    }

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

    @Test func `a read behind a waiting write keeps its place when the write is cancelled`() async {
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

/// The strategies with a backlog.
private let asynchronousKinds = StrategyKind.allCases.filter(\.traits.appliesWritesAsynchronously)

private struct WaitingTasksLoseNoUpdate: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [String] {
        [1, 4, 5000].flatMap {
            StrategyLaws.waitingTasksLoseNoUpdate({ ChosenStrategy(backlogMax: $0) }, bound: $0)
        }
    }
}

private struct CancelledTasksDoNotEnter: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [String] {
        StrategyLaws.cancelledTasksDoNotEnter { ChosenStrategy() }
    }
}

private struct TasksSeeTheirWrites: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [String] {
        StrategyLaws.tasksSeeTheirWrites { ChosenStrategy() }
    }
}

private struct TasksAreRefused: StrategyVisitor {
    let bound: Int

    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [String] {
        StrategyLaws.tasksAreRefused({ ChosenStrategy(backlogMax: $0) }, bound: bound)
    }
}

private struct WaitingTasksEnterInOrder: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [String] {
        StrategyLaws.waitingTasksEnterInOrder { ChosenStrategy(backlogMax: $0) }
    }
}

private struct WaitingTasksAreCancelled: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [String] {
        StrategyLaws.waitingTasksAreCancelled { ChosenStrategy(backlogMax: $0) }
    }
}

private struct AcceptedTasksAreCancelled: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [String] {
        StrategyLaws.acceptedTasksAreCancelled(
            { ChosenStrategy() },
            atOnce: ChosenStrategy.traits.blocksCaller
        )
    }
}
