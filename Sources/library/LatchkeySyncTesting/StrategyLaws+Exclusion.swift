public import LatchkeySync

// The laws of tries, and of accesses to several values.
//
// **Design.** As in the other laws, threads tell the law what they saw through gates and counts.

extension StrategyLaws {
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
        (make() as? any LockingStrategy).map { triesAreRefused(by: $0, seconds) } ?? []
    }

    private static func triesAreRefused<Tried: LockingStrategy>(
        by strategy: Tried,
        _ seconds: Double
    ) -> [Violation] {
        law(of: strategy) { value, note in
            for mode in AccessMode.allCases where mode == .write || !Tried.traits.readsDuringWrites
            {
                let (returned, entered) = (Arrivals(), Arrivals())
                let holder = Holder { stay in
                    switch mode {
                    case .read: value.read { _ in stay() }
                    case .write: value.write { _ in stay() }
                    }
                }
                let other = TestThread {
                    value.tryWrite { _ in entered.arrive() }
                    returned.arrive()
                }
                note(returned.wait(for: 1, seconds: seconds), "a try waits for a \(mode)")
                note(entered.value == 0, "a try went in while a \(mode) was inside")
                note(holder.leaves() && other.join(), "a thread hangs")
            }
            let isLetIn = value.tryWrite { _ in true } == true
            note(isLetIn, "a try was refused while no thread was inside")
        }
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
            // Numbers, since a body that enters by mistake may find a value moved out.
            let values = Striped(count: 2, strategy: make, value: { _ in 0 })
            let completed = Gate()
            let holder = Holder { stay in first.submit(to: values, stay) }
            let other = TestThread {
                second.submit(to: values) {}
                completed.open()
            }
            return law(of: ChosenStrategy.name) { note in
                note(completed.staysClosed, "\(second) went in during \(first)")
                note(holder.leaves() && other.join(), "\(first) or \(second) hangs")
            }
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
