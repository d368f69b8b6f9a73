public import LatchkeySync

/// A value and a strategy that is chosen by name at run time.
///
/// ```swift
/// let scores = AnySynchronized<[String: Int]>([:], kind: .barrierQueue)
/// try await scores.asyncWrite { $0["ada", default: 0] += 1 }
/// let best = scores.blocking?.read { $0.values.max() }
/// ```
///
/// It has the access functions that every strategy has. ``Synchronized/blocking`` has those that
/// block; it is nil under a strategy that cannot.
///
/// **Cost.** An access that blocks costs one dynamic call more: a few nanoseconds. Where that
/// matters, choose with `accept(_:)` of ``StrategyKind`` once, and run generic code over
/// ``Synchronized`` from there on.
public typealias AnySynchronized<Value> = Synchronized<Value, AnyStrategy>

/// A strategy that is chosen by name at run time.
public struct AnyStrategy: Strategy {
    /// The promise.
    @inlinable public static var strategyPromise: Promise<Self> { unsafe .unchecked() }

    /// The name of the type in messages; ``erased`` has the strategy's own name.
    public static let name = "any"

    /// The promises that all strategies share.
    public static let traits = StrategyTraits(
        blocksCaller: false,
        appliesWritesAsynchronously: true
    )

    /// The strategy's name.
    public let kind: StrategyKind

    /// The strategy.
    public let erased: any Strategy

    let blocking: AnyBlockingStrategy?

    /// Makes the strategy of that name for one value.
    public init(_ kind: StrategyKind) { self.init(kind, in: LockMemory()) }

    init(_ kind: StrategyKind, in memory: LockMemory) {
        self.kind = kind
        (erased, blocking) = kind.accept(StrategyMaker(memory: memory))
    }

    /// The number of writes that were accepted and are not yet applied.
    public var backlogCount: Int { erased.backlogCount }

    /// Forwards to the strategy.
    public func submit<Observer: EntryObserver, Result: Sendable>(
        _ request: AccessRequest,
        observer: Observer,
        _ body: @escaping @Sendable () -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        try erased.submit(request, observer: observer, body, completion: completion)
    }

    /// Forwards to the strategies, which must be of one name.
    public static func submitAll<Observer: EntryObserver, Result: Sendable>(
        _ request: AccessRequest,
        _ strategies: [Self],
        observers: [Observer],
        _ body: @escaping @Sendable () -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        try strategies[0].erased.submitAll(request, strategies, observers, body, completion)
    }

    /// Forwards to the strategies, which must be of one name.
    @unsafe public static func writingAll<Value, Result, Failure: Error>(
        _ strategies: [Self],
        _ guarded: [GuardedValue<Value>],
        _ body: (inout [Value]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe strategies[0].erased.writingAll(strategies, guarded, body)
    }

    /// Forwards to the strategy.
    nonisolated(nonsending) public func awaiting<Observer: EntryObserver, Result: Sendable>(
        _ request: AccessRequest,
        observer: Observer,
        whenFull: WhenFull,
        _ body: @Sendable () -> Result
    ) async throws(AccessRefused) -> Result {
        try await erased.awaiting(request, observer: observer, whenFull: whenFull, body)
    }

    /// Forwards to the strategy.
    public func begin<Value>(_ guarded: GuardedValue<Value>) { erased.begin(guarded) }

    /// Forwards to the strategy.
    @unsafe public func reading<Value: ~Copyable, Result: ~Copyable, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        _ body: (borrowing LentValue<Value>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe erased.reading(guarded, body)
    }

    /// Forwards to the strategy.
    @unsafe public func writing<Value, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe erased.writing(guarded, body)
    }
}

// For a strategy whose type is opened: all of them have its type.

extension Strategy {
    fileprivate func submitAll<Observer: EntryObserver, Result: Sendable>(
        _ request: AccessRequest,
        _ strategies: [AnyStrategy],
        _ observers: [Observer],
        _ body: @escaping @Sendable () -> Result,
        _ completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        let all = Self.all(strategies)
        try Self.submitAll(request, all, observers: observers, body, completion: completion)
    }

    @unsafe fileprivate func writingAll<Value, Result, Failure: Error>(
        _ strategies: [AnyStrategy],
        _ guarded: [GuardedValue<Value>],
        _ body: (inout [Value]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe Self.writingAll(Self.all(strategies), guarded, body)
    }

    private static func all(_ strategies: [AnyStrategy]) -> [Self] {
        let all = strategies.compactMap { $0.erased as? Self }
        precondition(all.count == strategies.count, "Several values have one strategy.")
        return all
    }
}

/// The strategy of an ``AnySynchronized`` whose calls block.
///
/// **Design.** A strategy guards a section of code and does not know the value. So only the entry
/// into the section is a dynamic call; the body is specialised where it is called. A value that is
/// not in its place is lent by a dynamic call, too.
public struct AnyBlockingStrategy: BlockingStrategy {
    /// The promise.
    @inlinable public static var strategyPromise: Promise<Self> { unsafe .unchecked() }

    /// The promise.
    @inlinable public static var blockingPromise: Promise<Self> { unsafe .unchecked() }

    /// The name of the type in messages; ``erased`` has the strategy's own name.
    public static let name = AnyStrategy.name

    /// The promises that all strategies share.
    public static let traits = AnyStrategy.traits

    /// The strategy.
    public var erased: any Strategy { base }

    @usableFromInline let base: any BlockingStrategy
    @usableFromInline let isInPlace: Bool

    /// Enters where no observer hears of it.
    @usableFromInline let section: @Sendable (AccessRequest, () -> Void) -> Void

    /// Runs `body` inside.
    @inlinable public func access<Observer: EntryObserver, Result: ~Copyable, Failure: Error>(
        _ request: AccessRequest,
        observer: Observer,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard observer is NoObserver else {
            return try base.access(request, observer: observer, body)
        }
        var outcome: Swift.Result<Result, Failure>?
        section(request) {
            do throws(Failure) {
                outcome = .success(try body())
            } catch {
                outcome = .failure(error)
            }
        }
        switch outcome.take() {
        case .success(let result): return result
        case .failure(let error): throw error
        case nil: preconditionFailure("A strategy did not run the body.")
        }
    }

    /// The number of writes that were accepted and are not yet applied.
    public var backlogCount: Int { base.backlogCount }

    /// Forwards to the strategy.
    public func submit<Observer: EntryObserver, Result: Sendable>(
        _ request: AccessRequest,
        observer: Observer,
        _ body: @escaping @Sendable () -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        try base.submit(request, observer: observer, body, completion: completion)
    }

    /// Forwards to the strategy.
    nonisolated(nonsending) public func awaiting<Observer: EntryObserver, Result: Sendable>(
        _ request: AccessRequest,
        observer: Observer,
        whenFull: WhenFull,
        _ body: @Sendable () -> Result
    ) async throws(AccessRefused) -> Result {
        try await base.awaiting(request, observer: observer, whenFull: whenFull, body)
    }

    /// Forwards to the strategy.
    @unsafe public func hold<Observer: EntryObserver>(
        _ request: AccessRequest,
        observer: Observer
    ) -> Release {
        unsafe base.hold(request, observer: observer)
    }

    /// Lends the value.
    @unsafe @inlinable public func reading<Value: ~Copyable, Result: ~Copyable, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        _ body: (borrowing LentValue<Value>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // SAFETY: the caller is inside.
        try unsafe isInPlace ? guarded.read(body) : base.reading(guarded, body)
    }

    /// Lends the value.
    @unsafe @inlinable public func writing<Value, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // SAFETY: the caller is inside.
        try unsafe isInPlace ? guarded.write(body) : base.writing(guarded, body)
    }
}

extension Synchronized where Value: Sendable, ChosenStrategy == AnyStrategy {
    /// A value under the strategy of that name.
    public init(_ value: Value, kind: StrategyKind) {
        let guarded = GuardedValue(value)
        self.init(guarded, AnyStrategy(kind, in: guarded))
        strategy.begin(guarded)
    }

    /// The strategy's name.
    public var kind: StrategyKind { strategy.kind }

    /// The same value with the access functions that block; nil under a strategy that cannot.
    public var blocking: Synchronized<Value, AnyBlockingStrategy>? {
        strategy.blocking.map { Synchronized<Value, AnyBlockingStrategy>(guarded, $0) }
    }
}

extension Synchronized where Value: Sendable {
    /// The same value with the access functions that block, for one with an observer; nil under a
    /// strategy that cannot.
    ///
    /// So for a value that is metered under ``AnyStrategy``:
    ///
    /// ```swift
    /// let locks = LockMeters()
    /// let scores = locks.metered("scores", [String: Int](), strategy: AnyStrategy(.ticket))
    /// scores.observedBlocking()?.write { $0["ada"] = 1 }
    /// ```
    public func observedBlocking<Observer: EntryObserver>()
        -> Synchronized<Value, ObservedStrategy<AnyBlockingStrategy, Observer>>?
    where ChosenStrategy == ObservedStrategy<AnyStrategy, Observer> {
        strategy.base.blocking.map {
            Synchronized<Value, ObservedStrategy<AnyBlockingStrategy, Observer>>(
                guarded,
                ObservedStrategy($0, by: strategy.observer)
            )
        }
    }
}

/// A visitor, so that the section is compiled once for each strategy.
private struct StrategyMaker: StrategyVisitor {
    let memory: LockMemory

    func visit<Chosen: MakeableStrategy>(
        _ strategy: Chosen.Type
    ) -> (any Strategy, AnyBlockingStrategy?) {
        (Chosen(in: memory), nil)
    }

    func visitBlocking<Chosen: MakeableStrategy & BlockingStrategy>(
        _ strategy: Chosen.Type
    ) -> (any Strategy, AnyBlockingStrategy?) {
        let made = Chosen(in: memory)
        let blocking = AnyBlockingStrategy(
            base: made,
            isInPlace: made is any InPlaceStrategy
        ) { request, body in
            made.access(request, observer: NoObserver(), body)
        }
        return (made, blocking)
    }
}
