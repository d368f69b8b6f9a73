/// A strategy, and an observer that hears of each access to it.
///
/// ```swift
/// let strategy = ObservedStrategy(SpinStrategy(), by: AccessCounter())
/// let scores = Synchronized([String: Int](), strategy: strategy)
/// ```
///
/// It gives the access that its base gives.
public struct ObservedStrategy<Base: Strategy, Observer: EntryObserver>: Strategy {
    /// The promise.
    @inlinable public static var strategyPromise: Promise<Self> { unsafe .unchecked() }

    /// The strategy that does the work.
    public let base: Base

    /// Hears of each access, after an observer that the base adds.
    public let observer: Observer

    /// - Parameters:
    ///   - base: The strategy that does the work; not used elsewhere.
    ///   - observer: Hears of each access.
    @inlinable public init(_ base: Base, by observer: Observer) {
        self.base = base
        self.observer = observer
    }

    /// The base's name.
    @inlinable public static var name: String { Base.name }

    /// The base's traits.
    @inlinable public static var traits: StrategyTraits { Base.traits }

    /// That of the base.
    public var erased: any Strategy { base.erased }

    /// The base's backlog.
    @inlinable public var backlogCount: Int { base.backlogCount }

    /// Forwards to the base.
    @inlinable @inline(__always) public func submit<Other: EntryObserver, Result: Sendable>(
        _ request: AccessRequest,
        observer other: Other,
        _ body: @escaping @Sendable () -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        try base.submit(request, observer: both(other), body, completion: completion)
    }

    /// Forwards to the base.
    @inlinable public static func submitAll<Other: EntryObserver, Result: Sendable>(
        _ request: AccessRequest,
        _ strategies: [Self],
        observers: [Other],
        _ body: @escaping @Sendable () -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        let observers = zip(strategies, observers).map { $0.both($1) }
        let bases = strategies.map(\.base)
        try Base.submitAll(request, bases, observers: observers, body, completion: completion)
    }

    /// Forwards to the base.
    @inlinable nonisolated(nonsending) public func awaiting<Other: EntryObserver, Result: Sendable>(
        _ request: AccessRequest,
        observer other: Other,
        whenFull: WhenFull,
        _ body: @Sendable () -> Result
    ) async throws(AccessRefused) -> Result {
        try await base.awaiting(request, observer: both(other), whenFull: whenFull, body)
    }

    /// Forwards to the base.
    @inlinable public func begin<Value>(_ guarded: GuardedValue<Value>) { base.begin(guarded) }

    /// Forwards to the base.
    @unsafe @inlinable @inline(__always)
    public func reading<Value: ~Copyable, Result: ~Copyable, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        _ body: (borrowing LentValue<Value>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe base.reading(guarded, body)
    }

    /// Forwards to the base.
    @unsafe @inlinable @inline(__always) public func writing<Value, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe base.writing(guarded, body)
    }

    /// Forwards to the base.
    @unsafe @inlinable public static func writingAll<Value, Result, Failure: Error>(
        _ strategies: [Self],
        _ guarded: [GuardedValue<Value>],
        _ body: (inout [Value]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe Base.writingAll(strategies.map(\.base), guarded, body)
    }

    @inlinable @inline(__always)
    func both<Other: EntryObserver>(_ other: Other) -> BothObservers<Observer, Other> {
        BothObservers(observer, other)
    }
}

extension ObservedStrategy: BlockingStrategy where Base: BlockingStrategy {
    /// The promise.
    @inlinable public static var blockingPromise: Promise<Self> { unsafe .unchecked() }

    /// Forwards to the base.
    @inlinable @inline(__always)
    public func access<Other: EntryObserver, Result: ~Copyable, Failure: Error>(
        _ request: AccessRequest,
        observer other: Other,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try base.access(request, observer: both(other), body)
    }

    /// Forwards to the base.
    @unsafe @inlinable public func hold<Other: EntryObserver>(
        _ request: AccessRequest,
        observer other: Other
    ) -> Release {
        unsafe base.hold(request, observer: both(other))
    }

    /// Forwards to the base.
    @inlinable public static func accessAll<Other: EntryObserver, Result, Failure: Error>(
        _ request: AccessRequest,
        _ strategies: [Self],
        observers: [Other],
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let observers = zip(strategies, observers).map { $0.both($1) }
        return try Base.accessAll(request, strategies.map(\.base), observers: observers, body)
    }
}

extension ObservedStrategy: InPlaceStrategy where Base: InPlaceStrategy {
    /// The promise.
    @inlinable public static var inPlacePromise: Promise<Self> { unsafe .unchecked() }
}

extension ObservedStrategy: LockingStrategy where Base: LockingStrategy {
    /// The promise.
    @inlinable public static var lockingPromise: Promise<Self> { unsafe .unchecked() }

    /// That of the base.
    public typealias Lock = Base.Lock

    /// Forwards to the base.
    @inlinable public func tryAccess<Other: EntryObserver, Result: ~Copyable, Failure: Error>(
        _ request: AccessRequest,
        observer other: Other,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try base.tryAccess(request, observer: both(other), body)
    }

    /// Forwards to the base.
    @unsafe @inlinable public func access<Other: EntryObserver, Result: ~Copyable, Failure: Error>(
        _ request: AccessRequest,
        observer other: Other,
        waiting wait: (Base.Lock, _ isBlocked: () -> Void) -> AccessMode?,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try unsafe base.access(request, observer: both(other), waiting: wait, body)
    }

    /// Forwards to the base.
    @unsafe @inlinable
    nonisolated(nonsending) public func access<Other: EntryObserver, Result: Sendable>(
        _ request: AccessRequest,
        observer other: Other,
        suspending wait:
            nonisolated(nonsending) (Base.Lock, _ isBlocked: () -> Void) async ->
            AccessMode?,
        _ body: () -> Result
    ) async -> Result? {
        await unsafe base.access(request, observer: both(other), suspending: wait, body)
    }
}
