public import LatchkeySync

// The law of objects that are destroyed with an access: only a body, a completion, a result or an
// observer holds them.
//
// **Design.** A writer keeps the value while accesses are submitted, so that where writes are
// applied later, the submitting thread has released everything before.

extension StrategyLaws {
    /// An object that only a submitted body, its completion, its result or its observer holds may
    /// enter the value when it is destroyed, like a session that signs off.
    ///
    ///     submitter                          the strategy's thread
    ///     ---------                          ---------------------
    ///     submits a body that holds a session
    ///     lets go of the session
    ///                                        runs body and completion, lets go of both:
    ///                                        the session ends, and enters
    public static func endingsMayEnter<ChosenStrategy: Strategy>(
        _ make: () -> ChosenStrategy,
        rounds: Int = 100
    ) -> [Violation] {
        let synchronized = Synchronized(LawState(), strategy: make())
        let ended = Arrivals()
        let session = { @Sendable in Session { signOff(from: synchronized, ended) } }
        let writer = writer(of: synchronized)
        for round in 0..<rounds {
            switch round % 3 {
            case 0:
                let session = session()
                try? synchronized.submitWrite({ _ in session.use() }, completion: {})
            case 1:
                let session = session()
                try? synchronized.submitWrite({ _ in }, completion: { session.use() })
            default:
                try? synchronized.submitWrite({ _ in session() }, completion: { $0.use() })
            }
        }
        writer?.letGo()
        let single =
            ended.wait(for: rounds)
            ? [] : ["\(ChosenStrategy.name): \(rounds - ended.value) sessions did not sign off"]
        return single + endingsOfSeveralMayEnter(make, rounds: rounds)
            + endingsOfObserversMayEnter(make, rounds: rounds)
    }

    /// The same for an object that only an observer holds, of one value and of several.
    ///
    /// Asks the strategies: the bodies of `observed(by:)` hold the observer, too.
    private static func endingsOfObserversMayEnter<ChosenStrategy: Strategy>(
        _ make: () -> ChosenStrategy,
        rounds: Int
    ) -> [Violation] {
        let strategies = [make(), make()]
        return endingsMayEnter("observers", strategies, rounds: rounds) { _, session, isEven in
            let request = AccessRequest(.write, isSubmitted: true)
            let observer = SessionObserver(session)
            if isEven {
                try? strategies[0].submit(request, observer: observer, {}, completion: {})
            } else {
                let observers = [observer, observer]
                try? ChosenStrategy.submitAll(
                    request,
                    strategies,
                    observers: observers,
                    {},
                    completion: {}
                )
            }
        }
    }

    /// The same for writes to several values.
    private static func endingsOfSeveralMayEnter<ChosenStrategy: Strategy>(
        _ make: () -> ChosenStrategy,
        rounds: Int
    ) -> [Violation] {
        let strategies = [make(), make()]
        return endingsMayEnter("sessions of several", strategies, rounds: rounds) {
            values,
            session,
            isEven in
            if isEven {
                try? values.submitWrite(several: [0, 1], { _ in session.use() }, completion: {})
            } else {
                try? values.submitWrite(several: [0, 1], { _ in }, completion: { session.use() })
            }
        }
    }

    /// Whether all sessions sign off that end with an access to one of two values, or both.
    private static func endingsMayEnter<ChosenStrategy: Strategy>(
        _ what: String,
        _ strategies: [ChosenStrategy],
        rounds: Int,
        _ submit: (Striped<LawState, ChosenStrategy>, Session, _ isEven: Bool) -> Void
    ) -> [Violation] {
        var left = strategies
        let values = Striped(
            count: strategies.count,
            strategy: { left.removeFirst() },
            value: { _ in LawState() }
        )
        let ended = Arrivals()
        let writer = writer(of: values[0])
        for round in 0..<rounds {
            let session = Session { signOff(from: values[0], ended) }
            submit(values, session, round.isMultiple(of: 2))
        }
        writer?.letGo()
        return ended.wait(for: rounds)
            ? [] : ["\(ChosenStrategy.name): \(rounds - ended.value) \(what) hang"]
    }

    /// The same for tasks: an object that only a result or an observer holds, also if the task is
    /// cancelled.
    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    public static func resultsMayEnter<ChosenStrategy: Strategy>(
        _ make: () -> ChosenStrategy,
        rounds: Int = 300
    ) -> [Violation] {
        let synchronized = Synchronized(LawState(), strategy: make())
        let ended = Arrivals()
        let writer = writer(of: synchronized)
        let session = { @Sendable in Session { signOff(from: synchronized, ended) } }
        for round in 0..<rounds {
            if round.isMultiple(of: 3) {
                Task.immediate {
                    let session = try? await synchronized.asyncWrite { _ in session() }
                    session?.use()
                }
                continue
            }
            let task = Task.immediate {
                let observed = synchronized.observed(by: SessionObserver(session()))
                try? await observed.asyncWrite { _ in }
            }
            if round % 3 == 1 {
                task.cancel()
            }
        }
        writer?.letGo()
        return ended.wait(for: rounds)
            ? [] : ["\(ChosenStrategy.name): \(rounds - ended.value) sessions did not sign off"]
    }

    private static func signOff<ChosenStrategy: Strategy>(
        from synchronized: Synchronized<LawState, ChosenStrategy>,
        _ ended: Arrivals
    ) {
        try? synchronized.submitRead({ _ in }, completion: { ended.arrive() })
    }

    /// A writer that is inside, where writes are applied later.
    private static func writer<ChosenStrategy: Strategy>(
        of synchronized: Synchronized<LawState, ChosenStrategy>
    ) -> Holder? {
        ChosenStrategy.traits.appliesWritesAsynchronously
            ? Holder(submittingTo: synchronized) : nil
    }
}

/// Enters when it is destroyed.
private final class Session: Sendable {
    private let signOff: @Sendable () -> Void

    init(_ signOff: @escaping @Sendable () -> Void) {
        self.signOff = signOff
    }

    func use() {}

    deinit { signOff() }
}

/// Holds a session, and is told nothing.
private struct SessionObserver: EntryObserver {
    static var isActive: Bool { false }

    private let session: Session

    init(_ session: Session) {
        self.session = session
    }

    func asks(_ request: AccessRequest) -> NoObserver.Entry { NoObserver().asks(request) }
    func isBlocked(_ entry: inout NoObserver.Entry) {}
    func enters(_ entry: inout NoObserver.Entry) {}
    func leaves(_ entry: NoObserver.Entry) {}
    func givesUp(_ entry: NoObserver.Entry) {}
}
