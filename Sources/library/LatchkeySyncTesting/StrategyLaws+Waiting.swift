public import LatchkeySync

// The laws of waiting with an end, and of waiting for a condition.
//
// **Design.** As in the other laws, threads tell the law what they saw through gates and counts.

extension StrategyLaws {
    /// The length of a wait that ends at its deadline.
    static let moment = Duration.milliseconds(30)

    /// A wait ends at its deadline and not before, and has no effect on later accesses.
    ///
    /// Nothing is tried if the strategy has no ``TimedLock``.
    ///
    ///     holder                 waiter
    ///     ------                 ------
    ///     enters
    ///     inside ──────────────▶ waits until the deadline, gives up
    ///     leaves ◀──────────────
    ///                            enters: the deadline has passed, but the guard is free
    public static func deadlinesEndWaits<ChosenStrategy: Strategy>(
        _ make: @escaping @Sendable () -> ChosenStrategy
    ) -> [Violation] {
        (lock(of: ChosenStrategy.self) as? any TimedLock.Type).map { deadlines($0, make) } ?? []
    }

    private static func deadlines<Lock: TimedLock>(
        _ lock: Lock.Type,
        _ make: () -> any Strategy
    ) -> [Violation] {
        ofLock(
            lock,
            make,
            [
                { deadlineEndsWait($0, .read) }, { deadlineEndsWait($0, .write) },
                { anyDeadlineIsOne($0) }, { timedWritersCount($0) },
            ]
        )
    }

    /// The lock that lets callers in, if a lock does.
    static func lock(of strategy: any Strategy.Type) -> (any RawLock.Type)? {
        func lock<Locking: LockingStrategy>(_ strategy: Locking.Type) -> any RawLock.Type {
            Locking.Lock.self
        }
        return (strategy as? any LockingStrategy.Type).map { lock($0) }
    }

    private static func deadlineEndsWait<Timed: LockingStrategy>(
        _ strategy: Timed,
        _ mode: AccessMode
    ) -> [Violation] where Timed.Lock: TimedLock {
        let observer = RecordingObserver()
        let waits = mode == .write || !Timed.traits.readsDuringWrites
        return law(of: strategy) { value, note in
            let observed = value.observed(by: observer)
            @Sendable func enter(_ deadline: ContinuousClock.Instant) -> Bool {
                switch mode {
                case .read: observed.read(deadline: deadline) { _ in true } == true
                case .write: observed.write(deadline: deadline) { _ in true } == true
                }
            }
            let holder = Holder { stay in value.write { _ in stay() } }
            note(holder.isInside, "a writer cannot enter")
            let (entered, early) = (Collected(false), Collected(false))
            let waiter = TestThread {
                let deadline = ContinuousClock.now + moment
                let hasEntered = enter(deadline)
                let isEarly = ContinuousClock.now < deadline
                entered.with { $0 = hasEntered }
                early.with { $0 = isEarly }
            }
            note(waiter.join(), "a \(mode) waits beyond its deadline")
            note(entered.with { $0 } == !waits, "a \(mode) went in while a writer was inside")
            note(early.with { $0 } == !waits, "a \(mode) gave up before its deadline")
            note(holder.leaves(), "the holder hangs")
            note(enter(.now - moment), "a \(mode) does not enter a free lock")
            let calls = waits ? [.asks(mode), .isBlocked, .givesUp] : entry(mode)
            let heard = observer.accesses
            note(heard == [calls, entry(mode)], "the observer heard \(heard)")
        }
    }

    /// The earliest instant is over, and the latest one is never reached: neither ends the process.
    private static func anyDeadlineIsOne<Timed: LockingStrategy>(
        _ strategy: Timed
    ) -> [Violation] where Timed.Lock: TimedLock {
        law(of: strategy) { value, note in
            let holder = Holder { stay in value.write { _ in stay() } }
            note(holder.isInside, "a writer cannot enter")
            for past in pastDeadlines {
                note(value.write(deadline: past) { _ in } == nil, "a write went in beside another")
                if !Timed.traits.readsDuringWrites {
                    note(value.read(deadline: past) { _ in } == nil, "a read went in")
                }
            }
            let arrived = Arrivals()
            let waiters = futureDeadlines.map { future in
                TestThread {
                    arrived.arrive()
                    _ = value.write(deadline: future) { $0 += 1 }
                }
            }
            note(arrived.wait(for: waiters.count), "a thread did not start")
            note(holder.leaves(), "the holder hangs")
            note(waiters.allSatisfy { $0.join() }, "a writer with a late deadline hangs")
            note(value.read { $0 } == futureDeadlines.count, "a late deadline was taken for past")
        }
    }

    /// More than 292 years ago, which is too many nanoseconds for a word; and the earliest instant.
    static var pastDeadlines: [ContinuousClock.Instant] {
        [
            .now - .seconds(10_000_000_000), .now - .seconds(Int64.max),
            .now + Duration(attoseconds: .min),
        ]
    }

    /// More seconds than a word has, and nearly as many as a duration has.
    static var futureDeadlines: [ContinuousClock.Instant] {
        [
            .now + .seconds(Int64.max) + .seconds(Int64.max),
            .now + (Duration(attoseconds: .max) - .seconds(Int64.max)),
        ]
    }

    private static func entry(_ mode: AccessMode) -> [RecordingObserver.Call] {
        [.asks(mode), .enters, .leaves]
    }

    /// Writers that give up and writers that do not: each one that was let in was counted, and all
    /// threads end.
    private static func timedWritersCount<Timed: LockingStrategy>(
        _ strategy: Timed
    ) -> [Violation] where Timed.Lock: TimedLock {
        law(of: strategy) { value, note in
            let entered = Collected(0)
            let ended = TestThread.run(6) { index in
                var count = 0
                for round in 0..<300 {
                    let isTimed = (index + round).isMultiple(of: 2)
                    let deadline = ContinuousClock.now + .microseconds(round % 7 * 20)
                    let body: (inout Int) -> Void = { value in
                        let seen = value
                        if round.isMultiple(of: 8) {
                            Yield.now()
                        }
                        value = seen + 1
                    }
                    if !isTimed {
                        value.write(body)
                        count += 1
                    } else if value.write(deadline: deadline, body) != nil {
                        count += 1
                    }
                }
                entered.with { [count] in $0 += count }
            }
            note(ended, "a thread hangs after others gave up")
            note(value.read { $0 } == entered.with { $0 }, "a write that gave up had gone in")
        }
    }

    /// A write that fulfils a condition wakes the thread that waits for it.
    ///
    /// Nothing is tried if the strategy has no ``ConditionLock``.
    public static func conditionsAreWaitedFor<ChosenStrategy: Strategy>(
        _ make: @escaping @Sendable () -> ChosenStrategy
    ) -> [Violation] {
        (lock(of: ChosenStrategy.self) as? any ConditionLock.Type).map { conditions($0, make) }
            ?? []
    }

    private static func conditions<Lock: ConditionLock>(
        _ lock: Lock.Type,
        _ make: () -> any Strategy
    ) -> [Violation] {
        ofLock(
            lock,
            make,
            [
                { everyTurnIsTaken($0) }, { deadlineEndsCondition($0, .read) },
                { deadlineEndsCondition($0, .write) }, { oneWriteLetsAllIn($0) },
                { whoGivesUpPassesItOn($0) }, { noItemIsLeft($0) },
                { whoIsWokenInVainPassesItOn($0) },
            ]
        )
    }

    /// Threads take turns.
    ///
    /// Each turn is a wake-up of one of the waiting threads, and a lost one would stop them all.
    /// Readers and writers that change nothing come in between.
    private static func everyTurnIsTaken<Waiting: LockingStrategy>(
        _ strategy: Waiting
    ) -> [Violation] where Waiting.Lock: ConditionLock {
        let (threads, rounds) = (4, 300)
        return law(of: strategy) { turn, note in
            let wrong = Arrivals()
            let ended = TestThread.run(threads + 1) { index in
                for round in 0..<rounds {
                    guard index < threads else {
                        turn.write { _ in }
                        turn.read { _ in }
                        continue
                    }
                    let mine = round * threads + index
                    turn.write(when: { $0 == mine }) { turn in
                        if turn != mine {
                            wrong.arrive()
                        }
                        turn += 1
                    }
                }
            }
            note(ended, "a thread was not woken for its turn")
            note(wrong.value == 0, "a body ran while its condition did not hold")
            note(turn.read { $0 } == threads * rounds, "a turn was taken twice or not at all")
        }
    }

    private static func deadlineEndsCondition<Waiting: LockingStrategy>(
        _ strategy: Waiting,
        _ mode: AccessMode
    ) -> [Violation] where Waiting.Lock: ConditionLock {
        let observer = RecordingObserver()
        return law(of: strategy) { value, note in
            let observed = value.observed(by: observer)
            @Sendable func enter(
                when condition: @Sendable (Int) -> Bool,
                _ deadline: ContinuousClock.Instant
            ) -> Int? {
                switch mode {
                case .read: observed.read(when: condition, deadline: deadline) { $0 }
                case .write: observed.write(when: condition, deadline: deadline) { $0 }
                }
            }
            func added() -> Int {
                value.write { value in
                    value += 1
                    return value
                }
            }
            let (asked, outcome, early) = (Gate(), Collected(true), Collected(false))
            let waiter = TestThread {
                let deadline = ContinuousClock.now + moment
                @Sendable func never(_ value: Int) -> Bool {
                    asked.open()
                    return false
                }
                let entered = enter(when: never, deadline) != nil
                let isEarly = ContinuousClock.now < deadline
                outcome.with { $0 = entered }
                early.with { $0 = isEarly }
            }
            note(asked.pass(), "the condition is not asked")
            note(added() == 1, "who waits for a condition is inside")
            note(waiter.join(), "the wait for a condition does not end at the deadline")
            note(!outcome.with { $0 }, "a body ran though its condition never held")
            note(!early.with { $0 }, "the wait for a condition ended before the deadline")
            note(
                observer.accesses == [[.asks(mode), .isBlocked, .givesUp]],
                "the observer heard \(observer.accesses)"
            )
            note(added() == 2, "the lock is held after a wait")
            let taken = enter(when: { $0 == 2 }, .now - moment)
            note(taken == 2, "a condition that holds is not entered after the deadline")
        }
    }
}
