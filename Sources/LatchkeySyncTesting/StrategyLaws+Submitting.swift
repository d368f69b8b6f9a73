import Dispatch
public import LatchkeySync
import Synchronization

// The laws of the submitting access functions, and of the observer.
//
// **Design.** Completions are counted where they run and awaited by the thread that submits. What
// blocks inside a body is on a thread of the law's own.

extension StrategyLaws {
    /// What one thread submits is applied in the order of submission, and each completion is
    /// called once; before the call returns, unless the strategy says that it is asynchronous.
    public static func writesApplyInOrder<ChosenStrategy: Strategy>(
        _ make: () -> ChosenStrategy,
        writes: Int = 1000
    ) -> [Violation] {
        let synchronized = Synchronized(LawState(), strategy: make())
        let completed = Arrivals()
        let traits = ChosenStrategy.traits
        let appliesAtOnce = traits.blocksCaller && !traits.appliesWritesAsynchronously
        var lateCount = 0
        var violations: [Violation] = []
        for number in 0..<writes {
            do throws(BacklogFull) {
                try synchronized.submitWrite(
                    { $0.log.append(number) },
                    completion: { completed.arrive() }
                )
            } catch {
                violations.append("\(ChosenStrategy.name): the backlog is smaller than \(writes)")
            }
            lateCount += appliesAtOnce && completed.value <= number ? 1 : 0
        }
        if lateCount > 0 {
            violations.append(
                "\(ChosenStrategy.name): \(lateCount) of \(writes) submitted writes were not "
                    + "applied at once, as its traits say"
            )
        }
        if !completed.wait(for: writes) {
            violations.append("\(ChosenStrategy.name): a completion was not called")
        }
        let seen = Gate()
        let log = Collected<[Int]>([])
        let keep: @Sendable ([Int]) -> Void = { value in
            log.with { $0 = value }
            seen.open()
        }
        try? synchronized.submitRead({ $0.log }, completion: keep)
        if !seen.pass() || log.with({ $0 }) != Array(0..<writes) {
            violations.append("\(ChosenStrategy.name): writes were applied in another order")
        }
        if completed.value != writes {
            violations.append("\(ChosenStrategy.name): a completion was called twice")
        }
        if synchronized.backlogCount != 0 {
            violations.append("\(ChosenStrategy.name): applied writes are still in the backlog")
        }
        return violations
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
        var violations: [Violation] = []
        // Short: a pool that grows by a thread a second gets there in the end.
        if !ended.wait(for: blocks, seconds: 20) {
            violations.append(
                "\(ChosenStrategy.name): \(ended.value) of \(blocks) blocks have ended"
            )
        }
        if !completed.wait(for: blocks, seconds: 20) || missed.value != 0 {
            violations.append("\(ChosenStrategy.name): a write of a pool's thread was not seen")
        }
        return violations
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

    /// An asynchronous strategy accepts as many writes as its bound says, and not one more.
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
        let (inside, leave) = (Gate(), Gate())
        let completed = Arrivals()
        var violations: [Violation] = []
        func submit(_ body: @escaping @Sendable (inout LawState) -> Void) -> Bool {
            do throws(BacklogFull) {
                try synchronized.submitWrite(body) { completed.arrive() }
                return true
            } catch {
                return false
            }
        }
        // On a thread of its own: an unused actor runs on the thread that submits.
        let first = TestThread {
            try? synchronized.submitWrite { _ in
                inside.open()
                leave.pass()
            } completion: {
                completed.arrive()
            }
        }
        inside.pass()
        let accepted = (1..<bound).count { _ in submit { $0.count += 1 } }
        if accepted != bound - 1 || synchronized.backlogCount != bound {
            violations.append("\(ChosenStrategy.name): a write was refused below the bound")
        }
        if submit({ $0.count += 1 }) || synchronized.backlogCount != bound {
            violations.append("\(ChosenStrategy.name): a write was accepted above the bound")
        }
        leave.open()
        first.join()
        if !completed.wait(for: bound) || synchronized.backlogCount != 0 {
            violations.append("\(ChosenStrategy.name): accepted writes were not applied")
        }
        if !submit({ $0.count += 1 }) || !completed.wait(for: bound + 1) {
            violations.append(
                "\(ChosenStrategy.name): a write was refused after the backlog was worked off"
            )
        }
        return violations
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
        let (inside, leave) = (Gate(), Gate())
        let writer = TestThread {
            subject.write { _ in
                inside.open()
                leave.pass()
            }
        }
        inside.pass()
        let other = TestThread {
            if mode == .read {
                subject.read { _ in }
            } else {
                subject.write { _ in }
            }
        }
        let blocked = eventually { observer.accesses.last == [.asks(mode), .isBlocked] }
        leave.open()
        let ended = writer.join() && other.join()
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
        var violations: [Violation] = []
        do throws(Refusal) {
            try observed.write { state throws(Refusal) in
                state.count = 1
                throw Refusal()
            }
            violations.append("\(ChosenStrategy.name): the error of a writer was lost")
        } catch {}
        do throws(Refusal) {
            try observed.read { _ throws(Refusal) in throw Refusal() }
            violations.append("\(ChosenStrategy.name): the error of a reader was lost")
        } catch {}
        let next = TestThread { synchronized.write { $0.copy = 1 } }
        if !next.join() {
            violations.append("\(ChosenStrategy.name): a body that threw did not leave")
        }
        let count = synchronized.read { $0.count }
        if count != (ChosenStrategy.traits.readsDuringWrites ? 0 : 1) {
            violations.append("\(ChosenStrategy.name): a writer that threw left \(count)")
        }
        let expected: [[RecordingObserver.Call]] = [
            [.asks(.write), .enters, .leaves],
            [.asks(.read), .enters, .leaves],
        ]
        if observer.accesses != expected {
            violations.append("\(ChosenStrategy.name): the observer heard \(observer.accesses)")
        }
        return violations
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
