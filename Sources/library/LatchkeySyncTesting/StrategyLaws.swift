import Foundation
public import LatchkeySync

/// The promises of every strategy, each written once.
///
/// A law returns the ways in which it was broken, rather than failing a test: so the same law
/// shows that the strategies keep it and that the known-bad ones do not.
///
/// **Design.** Each law starts threads of its own and joins them before it returns. They report to
/// the law through ``Collected``, ``Arrivals`` and gates, never through the strategy under test.
public struct StrategyLaws: Sendable {
    /// The name of the strategy in violations.
    public let name: String

    /// The promises of the strategy.
    public let traits: StrategyTraits
    let makeSubject: @Sendable () -> Subject

    /// The laws of a strategy, tried through its submitting access functions.
    public init<ChosenStrategy: Strategy>(submitting make: @escaping @Sendable () -> ChosenStrategy)
    {
        name = ChosenStrategy.name + ", submitting"
        traits = ChosenStrategy.traits
        makeSubject = { Subject(submitting: Synchronized(LawState(), strategy: make())) }
    }

    /// The laws of a strategy, tried through its access functions for tasks.
    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    public init<ChosenStrategy: Strategy>(awaiting make: @escaping @Sendable () -> ChosenStrategy) {
        name = ChosenStrategy.name + ", awaiting"
        traits = ChosenStrategy.traits
        makeSubject = { Subject(awaiting: Synchronized(LawState(), strategy: make())) }
    }

    /// The laws of a strategy, tried through its blocking access functions.
    public init<ChosenStrategy: BlockingStrategy>(
        blocking make: @escaping @Sendable () -> ChosenStrategy
    ) {
        name = ChosenStrategy.name + ", blocking"
        traits = ChosenStrategy.traits
        makeSubject = { Subject(blocking: Synchronized(LawState(), strategy: make())) }
    }

    /// The laws of a strategy that is switched before each access, as
    /// ``switchesLoseNothing(_:_:)`` tries them.
    init<ChosenStrategy: BlockingStrategy>(
        switching make: @escaping @Sendable () -> ChosenStrategy,
        _ switchOver: @escaping @Sendable (Synchronized<LawState, ChosenStrategy>, Int) -> Void
    ) {
        name = ChosenStrategy.name + ", switched"
        traits = ChosenStrategy.traits
        makeSubject = {
            Subject(switching: Synchronized(LawState(), strategy: make()), switchOver)
        }
    }

    /// A broken law, as a sentence.
    public typealias Violation = String
}

extension StrategyLaws {
    /// No increment is lost.
    ///
    /// The value is read and written apart, with a yield in between now and then, so that a
    /// strategy that lets two writers in loses updates even on one processor.
    public func noUpdateIsLost(threads: Int = 4, rounds: Int = 400) -> [Violation] {
        violations { note in
            let subject = makeSubject()
            let ended = TestThread.run(threads) { _ in
                for round in 0..<rounds {
                    subject.write { state in
                        let seen = state.count
                        if round % 64 == 0 {
                            Yield.now()
                        }
                        state.count = seen + 1
                    }
                }
            }
            note(ended, "a writer hangs")
            let count = Collected(0)
            subject.read { state in count.with { $0 = state.count } }
            note(count.with { $0 } == threads * rounds, "updates were lost")
        }
    }

    /// A reader never sees half of a write.
    public func readsAreWhole(rounds: Int = 400) -> [Violation] {
        violations { note in
            let subject = makeSubject()
            let torn = Arrivals()
            let ended = TestThread.run(4) { index in
                for round in 0..<rounds {
                    if index == 0 {
                        subject.write { state in
                            state.count += 1
                            if round % 16 == 0 {
                                Yield.now()
                            }
                            state.copy = state.count
                        }
                    } else {
                        subject.read { state in
                            if state.count != state.copy {
                                torn.arrive()
                            }
                        }
                    }
                }
            }
            note(ended, "a thread hangs")
            note(torn.value == 0, "a reader saw half of a write")
        }
    }

    /// While a writer is inside, no other thread is.
    ///
    ///     writer                 other
    ///     ------                 -----
    ///     enters
    ///     changes the value
    ///     inside ──────────────▶ tries to enter
    ///     waits                  must not be inside yet
    ///     leaves ◀────────────── (seen from outside)
    ///                            enters, sees the change
    ///
    /// Where reads go on during writes, a reader may enter, and then sees the value from before.
    public func writersExcludeEveryone() -> [Violation] {
        [AccessMode.read, .write].flatMap { mode in
            violations { note in
                let subject = makeSubject()
                let entered = Gate()
                let seen = Collected(-1)
                let writer = Holder { stay in
                    subject.write { state in
                        state.count = 1
                        stay()
                        state.count = 2
                    }
                }
                note(writer.isInside, "a writer cannot enter")
                let other = TestThread {
                    subject.enter(mode) { state in
                        seen.with { $0 = state.count }
                        entered.open()
                    }
                }
                if mode == .read && traits.readsDuringWrites {
                    note(entered.pass(), "a reader waits for a writer")
                    note(seen.with { $0 } == 0, "a reader saw half of a write")
                    writer.letGo()
                } else {
                    note(entered.staysClosed, "a \(mode) went in while a writer was inside")
                    writer.letGo()
                    note(other.join(), "a \(mode) hangs after the writer left")
                    note(seen.with { $0 } == 2, "a \(mode) did not see the write before it")
                }
                note(writer.leaves() && other.join(), "a thread hangs")
            }
        }
    }

    /// While a reader is inside, another one is let in exactly where that is promised.
    ///
    ///     reader                 reader
    ///     ------                 ------
    ///     enters
    ///     inside ──────────────▶ tries to enter
    ///     waits                  is inside, or is not
    ///     leaves
    ///                            is inside in any case
    public func readersOverlapAsPromised() -> [Violation] {
        besideReader(.read, goesIn: traits.allowsConcurrentReaders)
    }

    /// While a reader is inside, a writer is not, except where reads go on during writes.
    ///
    ///     reader                 writer
    ///     ------                 ------
    ///     enters
    ///     inside ──────────────▶ tries to enter
    ///     waits                  must not be inside yet
    ///     leaves
    ///                            enters
    public func readersExcludeWriters() -> [Violation] {
        besideReader(.write, goesIn: traits.readsDuringWrites)
    }

    private func besideReader(_ mode: AccessMode, goesIn: Bool) -> [Violation] {
        violations { note in
            let subject = makeSubject()
            let entered = Gate()
            let reader = Holder { stay in subject.read { _ in stay() } }
            note(reader.isInside, "a reader cannot enter")
            let other = TestThread {
                subject.enter(mode) { _ in entered.open() }
            }
            if goesIn {
                note(entered.pass(), "a \(mode) waits for a reader")
            } else {
                note(entered.staysClosed, "a \(mode) went in while a reader was inside")
            }
            note(reader.leaves() && other.join(), "a thread hangs")
        }
    }

    /// Every waiting thread enters after the holder has left.
    public func noWakeUpIsLost(waiters: Int = 8, rounds: Int = 5) -> [Violation] {
        violations { note in
            let subject = makeSubject()
            for _ in 0..<rounds {
                let arrived = Arrivals()
                let holder = Holder { stay in subject.write { _ in stay() } }
                note(holder.isInside, "a writer cannot enter")
                let threads = (0..<waiters).map { index in
                    TestThread {
                        arrived.arrive()
                        if index.isMultiple(of: 2) {
                            subject.write { $0.count += 1 }
                        } else {
                            subject.read { _ in }
                        }
                    }
                }
                note(arrived.wait(for: waiters), "a thread did not start")
                note(holder.leaves(), "the holder hangs")
                note(threads.map { $0.join() }.allSatisfy(\.self), "a waiter was not woken")
            }
        }
    }

    /// Guarded values are freed: each old value, and the last one with the strategy.
    ///
    /// Under `snapshot`, readers elsewhere in the process may hold an old value until a later
    /// write, so writing goes on until it is gone.
    public func valuesAreFreed(rounds: Int = 20) -> [Violation] {
        violations { note in
            let freed = Arrivals()
            do {
                let subject = makeSubject()
                for _ in 0..<rounds {
                    subject.write { $0.tracked = Tracked(freed) }
                    subject.read { _ in }
                }
                let isFreed = eventually {
                    subject.write { _ in }
                    return freed.value == rounds - 1
                }
                note(isFreed, "an old value is kept though no thread is inside")
                note(freed.value < rounds, "the present value was freed")
            }
            note(freed.wait(for: rounds), "the last value leaks")
        }
    }
}

extension StrategyLaws {
    /// Runs every law that applies to a strategy that blocks; empty if it keeps them all.
    ///
    /// One law is left out, because it does not apply to every strategy. Call it yourself where it
    /// applies: ``backlogIsBounded(_:bound:)`` needs a strategy whose backlog has a limit that the
    /// law can choose.
    ///
    /// Takes some seconds. Call it on a thread that may block, which a thread of the cooperative
    /// pool may not.
    ///
    /// ```swift
    /// import LatchkeySyncTesting
    /// import Testing
    ///
    /// @Test func `my lock keeps the laws`() async {
    ///     let violations = await TestThread.result {
    ///         StrategyLaws.violations { RawLockStrategy<MyLock>() }
    ///     }
    ///     #expect(violations == [])
    /// }
    /// ```
    ///
    /// - Parameter make: Makes a strategy for one value.
    /// - Returns: A sentence for each broken law.
    @available(*, noasync, message: "it blocks: call it in 'TestThread.result'")
    public static func violations<ChosenStrategy: BlockingStrategy>(
        _ make: @escaping @Sendable () -> ChosenStrategy
    ) -> [Violation] {
        var found: [Violation] = []
        for laws in [StrategyLaws(blocking: make), StrategyLaws(submitting: make)] {
            found += laws.noUpdateIsLost()
            found += laws.readsAreWhole()
            found += laws.writersExcludeEveryone()
            found += laws.readersOverlapAsPromised()
            found += laws.readersExcludeWriters()
            found += laws.noWakeUpIsLost()
            found += laws.valuesAreFreed()
            found += laws.valuesEndOnce()
            found += laws.waitersEnterInOrder()
        }
        found += functionsWorkAlone(make)
        found += readsFreeFewValues(make)
        found += readsTakeNoTime(make)
        found += tasksOfAnyPriorityEnterInOrder(make)
        found += writesApplyInOrder(make)
        found += completionsRunOutside(make)
        found += endingsMayEnter(make)
        found += poolThreadsSeeTheirWrites(make)
        found += observerHearsInOrder(make)
        if ChosenStrategy.traits.tellsOfWaiting {
            found += observerHearsOfWaiting(.write, make)
        }
        found += throwingBodiesRelease(make)
        found += triesAreRefused(make)
        found += severalValuesAreHeld(make)
        found += deadlinesEndWaits(make)
        found += conditionsAreWaitedFor(make)
        found += severalWritesAreWhole(make)
        return found
    }
}
