public import LatchkeySync

// The laws of readers that keep writers out, of tries, and of accesses to several values.
//
// **Design.** As in the other laws, threads tell the law what they saw through gates and counts.

extension StrategyLaws {
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
        violations { note in
            let subject = makeSubject()
            let (inside, leave, entered) = (Gate(), Gate(), Gate())
            let reader = TestThread {
                subject.read { _ in
                    inside.open()
                    leave.pass()
                }
            }
            note(inside.pass(), "a reader cannot enter")
            let writer = TestThread {
                subject.write { _ in entered.open() }
            }
            if traits.readsDuringWrites {
                note(entered.pass(), "a writer waits for a reader")
            } else {
                note(entered.staysClosed, "a writer went in while a reader was inside")
            }
            leave.open()
            note(reader.join() && writer.join(), "a thread hangs")
        }
    }

    /// A try is refused at once while another thread is inside, and let in when none is.
    ///
    /// Nothing is tried if the strategy is no ``LockingStrategy``.
    ///
    /// - Parameters:
    ///   - make: Makes a strategy for one value.
    ///   - seconds: How long a try may take.
    /// - Returns: A sentence for each way in which the law was broken.
    public static func triesAreRefused<ChosenStrategy: Strategy>(
        _ make: () -> ChosenStrategy,
        seconds: Double = 20
    ) -> [Violation] {
        guard let strategy = make() as? any LockingStrategy else {
            return []
        }
        return triesAreRefused(by: strategy, seconds)
    }

    private static func triesAreRefused<Tried: LockingStrategy>(
        by strategy: Tried,
        _ seconds: Double
    ) -> [Violation] {
        let synchronized = Synchronized(0, strategy: strategy)
        var violations: [Violation] = []
        for mode in AccessMode.allCases where mode == .write || !Tried.traits.readsDuringWrites {
            let (inside, leave) = (Gate(), Gate())
            let (returned, entered) = (Arrivals(), Arrivals())
            let holder = TestThread {
                let wait = {
                    inside.open()
                    leave.pass()
                }
                if mode == .read {
                    synchronized.read { _ in _ = wait() }
                } else {
                    synchronized.write { _ in _ = wait() }
                }
            }
            inside.pass()
            let other = TestThread {
                synchronized.tryWrite { _ in entered.arrive() }
                returned.arrive()
            }
            if !returned.wait(for: 1, seconds: seconds) {
                violations.append("\(Tried.name): a try waits for a \(mode)")
            } else if entered.value != 0 {
                violations.append("\(Tried.name): a try went in while a \(mode) was inside")
            }
            leave.open()
            if !holder.join() || !other.join() {
                violations.append("\(Tried.name): a thread hangs")
            }
        }
        if synchronized.tryWrite({ _ in true }) == nil {
            violations.append("\(Tried.name): a try was refused while no thread was inside")
        }
        return violations
    }

    /// An access to several values and a write to one of them exclude each other.
    ///
    ///     first                  second
    ///     -----                  ------
    ///     enters
    ///     inside ──────────────▶ is submitted
    ///     waits                  must not be completed yet
    ///     leaves
    ///                            is completed
    public static func severalValuesAreHeld<ChosenStrategy: Strategy>(
        _ make: () -> ChosenStrategy
    ) -> [Violation] {
        let pairs: [(SeveralAccess, SeveralAccess)] = [
            (.writeBoth, .writeOne), (.writeOne, .writeBoth), (.readBoth, .writeOne),
        ]
        return pairs.flatMap { first, second in
            // Numbers, since a body that goes in wrongly may find a value moved out.
            let values = Striped(count: 2, strategy: make, value: { _ in 0 })
            let (inside, leave, completed) = (Gate(), Gate(), Gate())
            let holder = TestThread {
                first.submit(to: values) {
                    inside.open()
                    leave.pass()
                }
            }
            inside.pass()
            let other = TestThread {
                second.submit(to: values) {}
                completed.open()
            }
            var violations: [Violation] = []
            if !completed.staysClosed {
                violations.append("\(ChosenStrategy.name): \(second) went in during \(first)")
            }
            leave.open()
            if !holder.join() || !other.join() {
                violations.append("\(ChosenStrategy.name): \(first) or \(second) hangs")
            }
            return violations
        }
    }
}

/// An access to one or both of two values.
private enum SeveralAccess {
    case readBoth
    case writeBoth
    case writeOne

    /// Returns when the access is completed.
    func submit<ChosenStrategy: Strategy>(
        to values: Striped<Int, ChosenStrategy>,
        _ body: @escaping @Sendable () -> Void
    ) {
        let completed = Gate()
        let completion: @Sendable () -> Void = { completed.open() }
        switch self {
        case .readBoth:
            values.submitReadAll({ _ in body() }, completion: completion)
        case .writeBoth:
            try? values.submitWrite(several: [0, 1], { _ in body() }, completion: completion)
        case .writeOne:
            try? values.submitWrite(1, { _ in body() }, completion: completion)
        }
        completed.pass()
    }
}
