import LatchkeySync

// The parts that the laws share: a thread that is inside while others ask, and the findings of a
// law.

/// A thread that stays inside until it is released.
///
/// **Design.** The thread and the law meet at two gates, each of which is passed once.
///
///     holder                 law
///     ------                 ---
///     enters
///     inside ──────────────▶ goes on, starts others
///     waits                  looks at what became of them
///     leaves ◀────────────── lets it go
struct Holder: Sendable {
    /// Whether it came in.
    let isInside: Bool
    private let leave: Gate
    private let thread: TestThread

    /// Waits until the thread is inside.
    ///
    /// - Parameter enter: Enters, and calls its argument inside.
    init(_ enter: @escaping @Sendable (_ stay: @escaping @Sendable () -> Void) -> Void) {
        let (inside, leave) = (Gate(), Gate())
        thread = TestThread {
            enter {
                inside.open()
                leave.pass()
            }
        }
        isInside = inside.pass()
        self.leave = leave
    }

    /// A submitted write, from a thread of its own: an unused actor runs on the one that submits.
    init<Value: Sendable, ChosenStrategy: Strategy>(
        submittingTo synchronized: Synchronized<Value, ChosenStrategy>,
        completion: @escaping @Sendable () -> Void = {}
    ) {
        self.init { stay in
            try? synchronized.submitWrite({ _ in stay() }, completion: completion)
        }
    }

    /// Lets the thread leave.
    func letGo() {
        leave.open()
    }

    /// Lets the thread leave, and waits for it; false if it hangs.
    @discardableResult
    func leaves() -> Bool {
        letGo()
        return thread.join()
    }
}

/// The findings of a law.
final class Findings {
    private let name: String
    private(set) var violations: [StrategyLaws.Violation] = []

    /// - Parameter name: Begins each sentence.
    init(of name: String) {
        self.name = name
    }

    /// Keeps the sentence, unless `holds` is true.
    func callAsFunction(_ holds: Bool, _ sentence: @autoclosure () -> String) {
        if !holds {
            violations.append("\(name): \(sentence())")
        }
    }
}

extension StrategyLaws {
    /// A law of the strategy with this name.
    static func law(of name: String, _ collect: (_ note: Findings) -> Void) -> [Violation] {
        let findings = Findings(of: name)
        collect(findings)
        return findings.violations
    }

    /// A law of a number that a strategy guards.
    static func law<ChosenStrategy: Strategy>(
        of strategy: ChosenStrategy,
        _ collect: (_ value: Synchronized<Int, ChosenStrategy>, _ note: Findings) -> Void
    ) -> [Violation] {
        let value = Synchronized<Int, ChosenStrategy>(0, strategy: strategy)
        return law(of: ChosenStrategy.name) { collect(value, $0) }
    }

    func violations(_ collect: (_ note: Findings) -> Void) -> [Violation] {
        Self.law(of: name, collect)
    }

    /// The laws of strategies with a lock of some kind, which an existential type opens.
    static func ofLock<Lock>(
        _ lock: Lock.Type,
        _ make: () -> any Strategy,
        _ laws: [(any LockingStrategy<Lock>) -> [Violation]]
    ) -> [Violation] {
        // A strategy guards one value, so each law has its own.
        laws.flatMap { law in (make() as? any LockingStrategy<Lock>).map(law) ?? [] }
    }
}

extension Subject {
    /// Enters in a mode, and shows what is there.
    func enter(_ mode: AccessMode, _ body: @escaping @Sendable (LawState) -> Void) {
        switch mode {
        case .read: read(body)
        case .write: write { body($0) }
        }
    }
}
