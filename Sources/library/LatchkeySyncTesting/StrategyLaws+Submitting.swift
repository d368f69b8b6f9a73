import Dispatch
public import LatchkeySync
import Synchronization

// The laws of the submitting access functions, and of the observer.
//
// **Design.** Completions are counted where they run and awaited by the thread that submits. A body
// that blocks is on a thread of the law's own.

extension StrategyLaws {
    /// The writes of one thread are applied in the order of submission, and each completion is
    /// called once; before the call returns, unless the strategy says that it is asynchronous.
    public static func writesApplyInOrder<ChosenStrategy: Strategy>(
        _ make: () -> ChosenStrategy,
        writes: Int = 1000
    ) -> [Violation] {
        let synchronized = Synchronized(LawState(), strategy: make())
        let completed = Arrivals()
        let traits = ChosenStrategy.traits
        let appliesAtOnce = traits.blocksCaller && !traits.appliesWritesAsynchronously
        return law(of: ChosenStrategy.name) { note in
            var lateCount = 0
            for number in 0..<writes {
                let accepted: Void? = try? synchronized.submitWrite(
                    { $0.log.append(number) },
                    completion: { completed.arrive() }
                )
                note(accepted != nil, "the backlog is smaller than \(writes)")
                lateCount += appliesAtOnce && completed.value <= number ? 1 : 0
            }
            note(
                lateCount == 0,
                "\(lateCount) of \(writes) submitted writes were not applied at once, as its "
                    + "traits say"
            )
            note(completed.wait(for: writes), "a completion was not called")
            let seen = Gate()
            let log = Collected<[Int]>([])
            let keep: @Sendable ([Int]) -> Void = { value in
                log.with { $0 = value }
                seen.open()
            }
            try? synchronized.submitRead({ $0.log }, completion: keep)
            let isOrdered = seen.pass() && log.with { $0 } == Array(0..<writes)
            note(isOrdered, "writes were applied in another order")
            note(completed.value == writes, "a completion was called twice")
            note(synchronized.backlogCount == 0, "applied writes are still in the backlog")
        }
    }

    /// A thread of the program's pool may wait for a write that it has submitted, although no
    /// thread is left in that pool.
    public static func poolThreadsSeeTheirWrites<ChosenStrategy: BlockingStrategy>(
        _ make: () -> ChosenStrategy,
        blocks: Int = 64
    ) -> [Violation] {
        let synchronized = Synchronized(LawState(), strategy: make())
        let (ended, completed, missed) = (Arrivals(), Arrivals(), Arrivals())
        for _ in 0..<blocks {
            DispatchQueue.global().async {
                try? synchronized.submitWrite(
                    { $0.count += 1 },
                    completion: { completed.arrive() }
                )
                if synchronized.read({ $0.count }) == 0 {
                    missed.arrive()
                }
                ended.arrive()
            }
        }
        // Short: a pool that grows by a thread a second gets there in the end.
        return law(of: ChosenStrategy.name) { note in
            let haveEnded = ended.wait(for: blocks, seconds: 20)
            note(haveEnded, "\(ended.value) of \(blocks) blocks have ended")
            let areSeen = completed.wait(for: blocks, seconds: 20) && missed.value == 0
            note(areSeen, "a write of a pool's thread was not seen")
        }
    }

    /// A completion runs outside the guarded section: it may enter.
    public static func completionsRunOutside<ChosenStrategy: Strategy>(
        _ make: () -> ChosenStrategy
    ) -> [Violation] {
        let synchronized = Synchronized(LawState(), strategy: make())
        let done = Arrivals()
        let enter: @Sendable () -> Void = {
            try? synchronized.submitRead({ $0.count }, completion: { _ in done.arrive() })
        }
        do throws(BacklogFull) {
            try synchronized.submitRead({ _ in }, completion: enter)
            try synchronized.submitWrite({ $0.count = 1 }, completion: enter)
        } catch {
            return ["\(ChosenStrategy.name): a single access was refused"]
        }
        return done.wait(for: 2) ? [] : ["\(ChosenStrategy.name): a completion cannot enter"]
    }

    /// An asynchronous strategy accepts as many writes as its limit says, and not one more.
    ///
    ///     submitter                          worker
    ///     ---------                          ------
    ///     submits write 1 ─────────────────▶ applies it, waits inside
    ///     submits writes 2 … bound
    ///     submits one more: refused
    ///     lets the worker go ──────────────▶ applies all
    ///     submits again: accepted
    public static func backlogIsBounded<ChosenStrategy: Strategy>(
        _ make: (_ backlogMax: Int) -> ChosenStrategy,
        bound: Int
    ) -> [Violation] {
        let synchronized = Synchronized(LawState(), strategy: make(bound))
        let completed = Arrivals()
        func submit() -> Bool {
            (try? synchronized.submitWrite({ _ in }, completion: { completed.arrive() })) != nil
        }
        let first = Holder(submittingTo: synchronized) { completed.arrive() }
        return law(of: ChosenStrategy.name) { note in
            let accepted = (1..<bound).count { _ in submit() }
            let areAccepted = accepted == bound - 1 && synchronized.backlogCount == bound
            note(areAccepted, "a write was refused below the bound")
            let isRefused = !submit() && synchronized.backlogCount == bound
            note(isRefused, "a write was accepted above the bound")
            first.leaves()
            let areApplied = completed.wait(for: bound) && synchronized.backlogCount == 0
            note(areApplied, "accepted writes were not applied")
            let isAccepted = submit() && completed.wait(for: bound + 1)
            note(isAccepted, "a write was refused after the backlog was worked off")
        }
    }
}

extension StrategyLaws {
    /// The observer hears asks, enters, leaves of an access that need not wait.
    public static func observerHearsInOrder<ChosenStrategy: Strategy>(
        _ make: () -> ChosenStrategy
    ) -> [Violation] {
        observed(make()).compactMap { subject, observer in
            subject.read { _ in }
            subject.write { $0.count += 1 }
            let expected: [[RecordingObserver.Call]] = [
                [.asks(.read), .enters, .leaves],
                [.asks(.write), .enters, .leaves],
            ]
            return observer.accesses == expected
                ? nil : "\(ChosenStrategy.name): the observer heard \(observer.accesses)"
        }
    }

    /// A value as threads submit to it and as tasks await it, each with an observer.
    private static func observed<ChosenStrategy: Strategy>(
        _ strategy: ChosenStrategy
    ) -> [(Subject, RecordingObserver)] {
        let synchronized = Synchronized(LawState(), strategy: strategy)
        let (submitting, awaiting) = (RecordingObserver(), RecordingObserver())
        let submits = (Subject(submitting: synchronized.observed(by: submitting)), submitting)
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else {
            return [submits]
        }
        return [submits, (Subject(awaiting: synchronized.observed(by: awaiting)), awaiting)]
    }

    /// The observer hears isBlocked, between asks and enters, of an access that has to wait.
    ///
    ///     writer                 other
    ///     ------                 -----
    ///     enters
    ///     inside ──────────────▶ tries to enter
    ///     waits                  the observer hears asks and isBlocked
    ///     leaves
    ///                            the observer hears enters and leaves
    public static func observerHearsOfWaiting<ChosenStrategy: Strategy>(
        _ mode: AccessMode,
        _ make: () -> ChosenStrategy
    ) -> [Violation] {
        observed(make()).flatMap { subject, observer in
            hearsOfWaiting(mode, subject, observer).map { "\(ChosenStrategy.name): \($0)" }
        }
    }

    private static func hearsOfWaiting(
        _ mode: AccessMode,
        _ subject: Subject,
        _ observer: RecordingObserver
    ) -> [Violation] {
        let writer = Holder { stay in subject.write { _ in stay() } }
        let other = TestThread { subject.enter(mode) { _ in } }
        let blocked = eventually { observer.accesses.last == [.asks(mode), .isBlocked] }
        let ended = writer.leaves() && other.join()
        let expected: [RecordingObserver.Call] = [.asks(mode), .isBlocked, .enters, .leaves]
        return blocked && ended && observer.accesses.last == expected
            ? [] : ["the observer heard \(observer.accesses) of a \(mode)"]
    }

    /// A body that throws leaves the section and lets the next one in; the observer hears it leave.
    public static func throwingBodiesRelease<ChosenStrategy: BlockingStrategy>(
        _ make: () -> ChosenStrategy
    ) -> [Violation] {
        let synchronized = Synchronized(LawState(), strategy: make())
        let observer = RecordingObserver()
        let observed = synchronized.observed(by: observer)
        return law(of: ChosenStrategy.name) { note in
            do throws(Refusal) {
                try observed.write { state throws(Refusal) in
                    state.count = 1
                    throw Refusal()
                }
                note(false, "the error of a writer was lost")
            } catch {}
            do throws(Refusal) {
                try observed.read { _ throws(Refusal) in throw Refusal() }
                note(false, "the error of a reader was lost")
            } catch {}
            let next = TestThread { synchronized.write { $0.copy = 1 } }
            note(next.join(), "a body that threw did not leave")
            let count = synchronized.read { $0.count }
            let expected = ChosenStrategy.traits.readsDuringWrites ? 0 : 1
            note(count == expected, "a writer that threw left \(count)")
            let calls: [[RecordingObserver.Call]] = [
                [.asks(.write), .enters, .leaves],
                [.asks(.read), .enters, .leaves],
            ]
            note(observer.accesses == calls, "the observer heard \(observer.accesses)")
        }
    }
}

/// Yields until `condition` holds; false after a timeout.
public func eventually(_ condition: () -> Bool) -> Bool {
    let deadline = ContinuousClock.now + .seconds(120)
    while !condition() {
        if ContinuousClock.now > deadline {
            return false
        }
        Yield.now()
    }
    return true
}

private struct Refusal: Error {}
