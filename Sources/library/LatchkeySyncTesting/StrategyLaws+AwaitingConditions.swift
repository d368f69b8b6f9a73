import Dispatch
public import LatchkeySync

// The law of tasks that wait for a condition.
//
// **Design.** As in the other laws of conditions: a condition is asked while the lock is held, so a
// write that begins after a task's condition was asked finds that task waiting.

@available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
extension StrategyLaws {
    /// A task that waits for a condition holds no thread, is woken by the write that fulfils the
    /// condition, delays no other one meanwhile, and ends when it is cancelled.
    ///
    /// Nothing is tried if the strategy has no ``ConditionLock``.
    public static func tasksWaitForConditions<ChosenStrategy: Strategy>(
        _ make: @escaping @Sendable () -> ChosenStrategy
    ) -> [Violation] {
        (lock(of: ChosenStrategy.self) as? any ConditionLock.Type).map {
            tasksWaitForConditions($0, make)
        } ?? []
    }

    private static func tasksWaitForConditions<Lock: ConditionLock>(
        _ lock: Lock.Type,
        _ make: () -> any Strategy
    ) -> [Violation] {
        ofLock(
            lock,
            make,
            [
                { waitingTasksHoldNoThread($0) }, { cancelledTaskEnds($0) },
                { cancelledTaskPassesItOn($0) }, { lateTaskHoldsUpNoOther($0) },
            ]
        )
    }

    /// More tasks wait than the pool has threads, and the one that they wait for is a task, too.
    private static func waitingTasksHoldNoThread<Waiting: LockingStrategy>(
        _ strategy: Waiting
    ) -> [Violation] where Waiting.Lock: ConditionLock {
        let tasks = 200
        return law(of: strategy) { items, note in
            let (asked, taken, wrong) = (Arrivals(), Arrivals(), Arrivals())
            @Sendable func isThere(_ items: Int) -> Bool {
                asked.arrive()
                return items > 0
            }
            for index in 0..<tasks {
                Task {
                    if index.isMultiple(of: 4) {
                        try await items.asyncRead(when: isThere) { items in
                            if items <= 0 { wrong.arrive() }
                        }
                        try await items.asyncWrite(when: isThere) { $0 -= 1 }
                    } else {
                        try await items.asyncWrite(when: isThere) { items in
                            if items <= 0 { wrong.arrive() }
                            items -= 1
                        }
                    }
                    taken.arrive()
                }
            }
            note(asked.wait(for: tasks), "a task that waits for a condition holds a thread")
            Task {
                for _ in 0..<tasks {
                    try await items.asyncWrite { $0 += 1 }
                }
            }
            note(taken.wait(for: tasks), "a task waits though its condition holds")
            note(wrong.value == 0, "a body ran while its condition did not hold")
            note(items.read { $0 } == 0, "an item was taken twice or not at all")
        }
    }

    /// A task ends as soon as it is cancelled; one that was cancelled before does not begin.
    private static func cancelledTaskEnds<Waiting: LockingStrategy>(
        _ strategy: Waiting
    ) -> [Violation] where Waiting.Lock: ConditionLock {
        let observer = RecordingObserver()
        return law(of: strategy) { items, note in
            let observed = items.observed(by: observer)
            let (asked, ended, refused) = (Arrivals(), Arrivals(), Arrivals())
            @Sendable func isThere(_ items: Int) -> Bool {
                asked.arrive()
                return items > 0
            }
            @Sendable func wait() async {
                do throws(AccessRefused) {
                    try await observed.asyncWrite(when: isThere) { $0 -= 1 }
                } catch {
                    refused.arrive()
                }
                ended.arrive()
            }
            let task = Task { await wait() }
            note(asked.wait(for: 1), "the condition is not asked")
            task.cancel()
            note(ended.wait(for: 1), "a task that is cancelled waits")
            let begun = Gate()
            let late = Task.immediate {
                unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
                begun.open()
                await wait()
            }
            note(begun.pass() && ended.wait(for: 2), "a task that was cancelled before waits")
            late.cancel()
            note(refused.value == 2, "a task that was cancelled entered")
            let heard = observer.accesses
            note(heard == [[.asks(.write), .isBlocked, .givesUp]], "the observer heard \(heard)")
            items.write { $0 += 1 }
            note(items.read { $0 } == 1, "a task entered after it was cancelled")
            Task { await wait() }
            note(ended.wait(for: 3), "a condition that holds is waited for")
            let last = observer.accesses.last
            note(last == [.asks(.write), .enters, .leaves], "the observer heard \(last ?? [])")
        }
    }

    /// A task that is cancelled after it was chosen passes its turn on.
    ///
    ///     writer          first                       second
    ///     ------          -----                       ------
    ///                     waits
    ///                                                 waits
    ///     adds one ─────▶ is chosen, and cancelled
    ///                                       ────────▶ takes it
    private static func cancelledTaskPassesItOn<Waiting: LockingStrategy>(
        _ strategy: Waiting
    ) -> [Violation] where Waiting.Lock: ConditionLock {
        law(of: strategy) { items, note in
            let (asked, ended, refused, taken) = (Arrivals(), Arrivals(), Arrivals(), Arrivals())
            let cancel = Collected<(@Sendable () -> Void)?>(nil)
            let first = Task {
                do throws(AccessRefused) {
                    try await items.asyncWrite(
                        when: { items in
                            asked.arrive()
                            if items > 0 {
                                cancel.with { $0 }?()
                            }
                            return items > 0
                        },
                        { $0 -= 1 }
                    )
                } catch {
                    refused.arrive()
                }
                ended.arrive()
            }
            note(asked.wait(for: 1), "the condition is not asked")
            cancel.with { $0 = { first.cancel() } }
            Task {
                @Sendable func isThere(_ items: Int) -> Bool {
                    asked.arrive()
                    return items > 0
                }
                try await items.asyncWrite(when: isThere) { $0 -= 1 }
                taken.arrive()
            }
            note(asked.wait(for: 2), "the second condition is not asked")
            items.write { $0 += 1 }
            note(ended.wait(for: 1), "a task that was chosen and cancelled waits")
            note(refused.value == 1, "a task that was chosen and cancelled entered")
            note(taken.wait(for: 1), "a cancelled task took the wake-up of another one with it")
            note(items.read { $0 } == 0, "an item was taken twice or not at all")
        }
    }

    /// A task that was chosen and cannot go on, because its executor is busy, delays no other.
    ///
    ///     writer            task on an executor      thread, and task on the pool
    ///     ------            -------------------      ----------------------------
    ///                       waits
    ///                       executor is held         wait
    ///     adds three ─────▶ is chosen ─────────────▶ take one each
    ///                       executor goes on
    ///                       takes one
    private static func lateTaskHoldsUpNoOther<Waiting: LockingStrategy>(
        _ strategy: Waiting
    ) -> [Violation] where Waiting.Lock: ConditionLock {
        let executor = HeldExecutor()
        return law(of: strategy) { items, note in
            let (asked, taken) = (Arrivals(), Arrivals())
            @Sendable func isThere(_ items: Int) -> Bool {
                asked.arrive()
                return items > 0
            }
            let late = ActorOfExecutor(executor)
            Task {
                try await late.take(from: items, when: isThere)
                taken.arrive()
            }
            note(asked.wait(for: 1), "the condition is not asked")
            executor.queue.suspend()
            let thread = TestThread {
                items.write(when: isThere) { $0 -= 1 }
                taken.arrive()
            }
            note(asked.wait(for: 2), "the condition of a thread is not asked")
            Task {
                try await items.asyncWrite(when: isThere) { $0 -= 1 }
                taken.arrive()
            }
            note(asked.wait(for: 3), "the condition of another task is not asked")
            items.write { $0 += 3 }
            note(taken.wait(for: 2), "a task whose executor is busy holds up the others")
            executor.queue.resume()
            note(taken.wait(for: 3) && thread.join(), "a task that was late waits")
            note(items.read { $0 } == 0, "an item was taken twice or not at all")
        }
    }
}

/// An executor that can be held.
private final class HeldExecutor: SerialExecutor {
    let queue = DispatchQueue(label: "held")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}

private actor ActorOfExecutor {
    private let executor: HeldExecutor

    init(_ executor: HeldExecutor) {
        self.executor = executor
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    func take<Waiting: LockingStrategy>(
        from items: Synchronized<Int, Waiting>,
        when isThere: @escaping @Sendable (Int) -> Bool
    ) async throws where Waiting.Lock: ConditionLock {
        try await items.asyncWrite(when: isThere) { $0 -= 1 }
    }
}
