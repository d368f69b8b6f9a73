/// A strategy that adds something to another one, for example an observer that measures.
///
/// A wrapper names its base, and the observer that it adds, if any. It gets all access functions
/// from the base:
///
/// ```swift
/// struct Counted<Base: Strategy>: WrappingStrategy {
///     let base: Base
///     let ownObserver: AccessCounter
/// }
/// extension Counted: BlockingStrategy where Base: BlockingStrategy {}
/// extension Counted: TryingStrategy where Base: TryingStrategy {}
/// ```
///
/// Likewise ``InPlaceStrategy``, ``TimedStrategy`` and ``ConditionStrategy``.
public protocol WrappingStrategy: Strategy {
    /// The strategy that does the work.
    associatedtype Base: Strategy
    /// What the wrapper adds.
    associatedtype OwnObserver: EntryObserver = NoObserver
    /// What the wrapper adds to an access that is submitted.
    associatedtype OwnSubmissionObserver: EntryObserver = OwnObserver

    /// The strategy that does the work.
    var base: Base { get }

    /// Hears of each access, before the observer that the caller gave.
    var ownObserver: OwnObserver { get }

    /// The same for an access that is submitted, which may run later.
    var ownSubmissionObserver: OwnSubmissionObserver { get }
}

extension WrappingStrategy where OwnObserver == NoObserver {
    /// Nothing is added.
    @inlinable public var ownObserver: NoObserver { NoObserver() }
}

extension WrappingStrategy where OwnSubmissionObserver == OwnObserver {
    /// The same as for an access that blocks.
    @inlinable public var ownSubmissionObserver: OwnObserver { ownObserver }
}

extension WrappingStrategy {
    /// The base's name.
    @inlinable public static var name: String { Base.name }

    /// The base's traits.
    @inlinable public static var traits: StrategyTraits { Base.traits }

    /// Forwards to the base.
    @inlinable public func begin<Value>(_ guarded: GuardedValue<Value>) { base.begin(guarded) }

    /// The base's backlog.
    @inlinable public var backlogCount: Int { base.backlogCount }

    /// Forwards to the base.
    @inlinable
    @inline(__always)
    public func submitRead<Value, Observer: EntryObserver, Result: Sendable>(
        _ guarded: GuardedValue<Value>,
        observer: Observer,
        _ body: @escaping @Sendable (Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        let observer = BothObservers(ownSubmissionObserver, observer)
        try base.submitRead(guarded, observer: observer, body, completion: completion)
    }

    /// Forwards to the base.
    @inlinable
    @inline(__always)
    public func submitWrite<Value, Observer: EntryObserver, Result: Sendable>(
        _ guarded: GuardedValue<Value>,
        observer: Observer,
        _ body: @escaping @Sendable (inout Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        let observer = BothObservers(ownSubmissionObserver, observer)
        try base.submitWrite(guarded, observer: observer, body, completion: completion)
    }

    /// Forwards to the base.
    @inlinable
    public static func submitReadAll<Value, Observer: EntryObserver, Result: Sendable>(
        _ strategies: [Self],
        _ guarded: [GuardedValue<Value>],
        observers: [Observer],
        _ body: @escaping @Sendable ([Value]) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) {
        let observers = zip(strategies, observers).map {
            BothObservers($0.ownSubmissionObserver, $1)
        }
        let bases = strategies.map(\.base)
        Base.submitReadAll(bases, guarded, observers: observers, body, completion: completion)
    }

    /// Forwards to the base.
    @inlinable
    public static func submitWriteAll<Value, Observer: EntryObserver, Result: Sendable>(
        _ strategies: [Self],
        _ guarded: [GuardedValue<Value>],
        observers: [Observer],
        _ body: @escaping @Sendable (inout [Value]) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        let observers = zip(strategies, observers).map {
            BothObservers($0.ownSubmissionObserver, $1)
        }
        let bases = strategies.map(\.base)
        try Base.submitWriteAll(bases, guarded, observers: observers, body, completion: completion)
    }
}

extension WrappingStrategy where Self: BlockingStrategy, Base: BlockingStrategy {
    /// Forwards to the base.
    @inlinable
    public func read<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try base.read(guarded, observer: BothObservers(ownObserver, observer), body)
    }

    /// Forwards to the base.
    @inlinable
    public func write<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try base.write(guarded, observer: BothObservers(ownObserver, observer), body)
    }

    /// Forwards to the base.
    @inlinable
    public func readHoldingWriters<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try base.readHoldingWriters(guarded, observer: BothObservers(ownObserver, observer), body)
    }

    /// Forwards to the base.
    @inlinable
    public func hold<Observer: EntryObserver>(
        _ mode: AccessMode,
        observer: Observer
    ) -> Release {
        base.hold(mode, observer: BothObservers(ownObserver, observer))
    }

    /// Forwards to the base.
    @inlinable
    public static func holding<Observer: EntryObserver, Result, Failure: Error>(
        _ mode: AccessMode,
        _ strategies: [Self],
        observers: [Observer],
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let observers = zip(strategies, observers).map { BothObservers($0.ownObserver, $1) }
        return try Base.holding(mode, strategies.map(\.base), observers: observers, body)
    }

    /// Forwards to the base.
    @inlinable
    public static func writeAll<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ strategies: [Self],
        _ guarded: [GuardedValue<Value>],
        observers: [Observer],
        _ body: (inout [Value]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let observers = zip(strategies, observers).map { BothObservers($0.ownObserver, $1) }
        return try Base.writeAll(strategies.map(\.base), guarded, observers: observers, body)
    }
}

extension WrappingStrategy where Self: InPlaceStrategy, Base: InPlaceStrategy {
    /// Forwards to the base.
    @inlinable
    public func access<Observer: EntryObserver, Result: ~Copyable, Failure: Error>(
        _ mode: AccessMode,
        observer: Observer,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try base.access(mode, observer: BothObservers(ownObserver, observer), body)
    }
}

extension WrappingStrategy where Self: TryingStrategy, Base: TryingStrategy {
    /// Forwards to the base.
    @inlinable
    public func tryAccess<Observer: EntryObserver, Result: ~Copyable, Failure: Error>(
        observer: Observer,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try base.tryAccess(observer: BothObservers(ownObserver, observer), body)
    }

    /// Forwards to the base.
    @inlinable
    public func tryWrite<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try base.tryWrite(guarded, observer: BothObservers(ownObserver, observer), body)
    }
}
