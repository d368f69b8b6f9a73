/// The way to get shared and exclusive access to a value.
///
/// A strategy holds no value. It guards a ``GuardedValue``; ``Synchronized`` keeps the two
/// together. It has two kinds of access functions. The *blocking* ones of ``BlockingStrategy`` run
/// the body before they return. The *submitting* ones here exist for every strategy: the body may
/// run later, on another thread, and then the completion is called. A strategy that blocks runs
/// both before it returns. ``AwaitableStrategy`` has the functions for tasks.
///
/// Every strategy promises: a body for writing excludes every other body; an access that begins
/// after another one has ended sees its writes; the completion is called exactly once, outside the
/// guarded section; writes that one thread submits are applied in order.
///
/// **Three ways to write one.** A strategy that is one lock conforms to ``LockingStrategy``, one
/// that is one dispatch queue to ``QueueStrategy``, and one that adds something to another strategy
/// to ``WrappingStrategy``; they get all access functions from there. A strategy of another kind
/// conforms to ``BlockingStrategy`` and implements `read`, `write` and `hold`, or to this protocol.
public protocol Strategy: AwaitableStrategy {
    /// The strategy's name in messages: ``StrategyKind/rawValue`` for a strategy that has a kind.
    static var name: String { get }

    /// The promises of the strategy.
    static var traits: StrategyTraits { get }

    /// Prepares for the value, once, before the first access.
    ///
    /// Only a strategy that keeps the value elsewhere has to implement it. It is not called for a
    /// value that is not copyable or not `Sendable`, which only an ``InPlaceStrategy`` can guard.
    func begin<Value>(_ guarded: GuardedValue<Value>)

    /// Submits `body` for shared access and calls `completion` with its result.
    ///
    /// - Throws: ``BacklogFull`` as ``submitWrite(_:observer:_:completion:)``, under `actor` only.
    func submitRead<Value, Observer: EntryObserver, Result: Sendable>(
        _ guarded: GuardedValue<Value>,
        observer: Observer,
        _ body: @escaping @Sendable (Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull)

    /// Submits `body` for exclusive access and calls `completion` with its result.
    ///
    /// - Throws: ``BacklogFull`` if the backlog is at its bound. Then nothing was submitted, and
    ///   neither closure is called.
    func submitWrite<Value, Observer: EntryObserver, Result: Sendable>(
        _ guarded: GuardedValue<Value>,
        observer: Observer,
        _ body: @escaping @Sendable (inout Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull)

    /// Submits `body` for shared access to all values at once and calls `completion` with its
    /// result: no write to any of them takes effect while `body` runs.
    ///
    /// They are entered in the order given, which must be the same for all callers. Never refused.
    ///
    /// - Parameters:
    ///   - strategies: The strategy of each value.
    ///   - guarded: As many values as strategies.
    ///   - observers: As many observers as values. Each hears of the access to its value.
    ///   - body: Given the values, in the same order.
    ///   - completion: Called exactly once, outside all guarded sections.
    static func submitReadAll<Value, Observer: EntryObserver, Result: Sendable>(
        _ strategies: [Self],
        _ guarded: [GuardedValue<Value>],
        observers: [Observer],
        _ body: @escaping @Sendable ([Value]) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    )

    /// Submits `body` for exclusive access to all values at once and calls `completion` with its
    /// result: whoever reads all of them at once sees every one of the writes or none.
    ///
    /// The parameters are those of ``submitReadAll(_:_:observers:_:completion:)``. `body` keeps the
    /// number of the values.
    ///
    /// ``Striped`` does not call it for a few values of a strategy that applies a submitted write
    /// in place before the call returns: it then writes to each from inside the one before.
    ///
    /// - Throws: ``BacklogFull`` if as many writes to one of the values wait as its strategy
    ///   accepts. Nothing was submitted then, and neither closure is called.
    static func submitWriteAll<Value, Observer: EntryObserver, Result: Sendable>(
        _ strategies: [Self],
        _ guarded: [GuardedValue<Value>],
        observers: [Observer],
        _ body: @escaping @Sendable (inout [Value]) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull)

    /// The number of writes that were accepted and are not yet applied. 0 for a strategy that
    /// applies a write before the call returns.
    var backlogCount: Int { get }
}

extension Strategy {
    /// Does nothing.
    @inlinable public func begin<Value>(_ guarded: GuardedValue<Value>) {}
}

/// A strategy that can run a body before the call returns.
///
/// Every strategy can, except `actor`.
public protocol BlockingStrategy: Strategy {
    /// Runs `body` with shared access: other readers may be inside if
    /// ``StrategyTraits/allowsConcurrentReaders`` is true, writers never.
    func read<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result

    /// Runs `body` with exclusive access.
    ///
    /// If it throws, its changes to the value stay, except under `snapshot`, which then publishes
    /// nothing.
    func write<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result

    /// Like ``read(_:observer:_:)``, and no write takes effect while `body` runs.
    ///
    /// Differs from it only under `snapshot`, whose readers do not delay writers.
    func readHoldingWriters<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result

    /// Enters, and stays inside until the calling thread calls the returned closure.
    ///
    /// The blocking form without a body. A loop over it holds several values at once. No write
    /// takes effect meanwhile, except those of the caller. The strategy says which others can read.
    func hold<Observer: EntryObserver>(_ mode: AccessMode, observer: Observer) -> Release

    /// Runs `body` while the calling thread is inside all guarded sections, which it enters in the
    /// order given.
    ///
    /// - Parameters:
    ///   - mode: How they are entered.
    ///   - strategies: The strategies, in an order that must be the same for all callers.
    ///   - observers: As many observers as strategies. Each hears of the access to its value.
    ///   - body: Runs inside.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    static func holding<Observer: EntryObserver, Result, Failure: Error>(
        _ mode: AccessMode,
        _ strategies: [Self],
        observers: [Observer],
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result

    /// Runs `body` with exclusive access to all values at once, before it returns.
    ///
    /// If it throws, its changes to the values stay, as with ``write(_:observer:_:)``.
    static func writeAll<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ strategies: [Self],
        _ guarded: [GuardedValue<Value>],
        observers: [Observer],
        _ body: (inout [Value]) throws(Failure) -> Result
    ) throws(Failure) -> Result
}

/// Leaves a guarded section that ``BlockingStrategy/hold(_:observer:)`` entered.
///
/// Called once, on the thread that entered.
public typealias Release = () -> Void

/// A strategy whose readers and writers use one value, in its place.
///
/// Every blocking strategy does, except `snapshot`, whose writers copy. So the value need not be
/// copyable, nor safe to use by several threads at once.
public protocol InPlaceStrategy: BlockingStrategy {
    /// Runs `body` with shared or exclusive access to whatever the strategy guards.
    func access<Observer: EntryObserver, Result: ~Copyable, Failure: Error>(
        _ mode: AccessMode,
        observer: Observer,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result

    /// ``access(_:observer:_:)`` as a closure, for callers that know the strategy at run time only.
    ///
    /// It is a requirement because a generic function is not specialised behind `any`.
    var section: @Sendable (AccessMode, () -> Void) -> Void { get }
}

/// A strategy that can be made without arguments.
public protocol MakeableStrategy: Strategy {
    /// Makes a strategy for one value.
    init()

    /// Makes a strategy for one value, whose memory has room for a lock.
    ///
    /// - Parameter memory: Used for nothing else. A strategy need not use it.
    init(in memory: LockMemory)

    /// - Parameter backlogMax: How many accepted writes may wait to be applied. A strategy that
    ///   applies a write before the call returns has no use for it.
    init(backlogMax: Int)
}

extension MakeableStrategy {
    /// Makes a strategy for one value, which needs no memory there.
    @inlinable
    public init(in memory: LockMemory) {
        self.init()
    }

    /// Makes a strategy for one value, which needs no backlog.
    @inlinable
    public init(backlogMax: Int) {
        self.init()
    }
}

/// A strategy with a case in ``StrategyKind``.
public protocol NamedStrategy: MakeableStrategy {
    /// The case.
    static var kind: StrategyKind { get }

    /// One sentence about the strategy, for tables.
    static var summary: String { get }
}

extension NamedStrategy {
    /// The kind's name.
    @inlinable public static var name: String { kind.rawValue }
}

extension InPlaceStrategy {
    /// Runs a body with shared or exclusive access.
    @inlinable public var section: @Sendable (AccessMode, () -> Void) -> Void {
        { mode, body in access(mode, observer: NoObserver(), body) }
    }

    /// Runs `body` with shared access.
    @_disfavoredOverload
    @inlinable
    @inline(__always)
    public func read<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try access(.read, observer: observer) { () throws(Failure) -> Result in
            try guarded.read(body)
        }
    }

    /// Runs `body` with exclusive access.
    @_disfavoredOverload
    @inlinable
    @inline(__always)
    public func write<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try access(.write, observer: observer) { () throws(Failure) -> Result in
            try guarded.write(body)
        }
    }
}

// Disfavoured where a wrapper around a blocking strategy has them from ``WrappingStrategy`` too.

extension BlockingStrategy {
    /// None: writes are applied before the call returns.
    @_disfavoredOverload @inlinable public var backlogCount: Int { 0 }

    // Always inlined, as those that call them: else the closures of each request are allocated.

    /// Reads before it returns.
    @_disfavoredOverload
    @inlinable
    @inline(__always)
    public func submitRead<Value, Observer: EntryObserver, Result: Sendable>(
        _ guarded: GuardedValue<Value>,
        observer: Observer,
        _ body: @escaping @Sendable (Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) {
        completion(read(guarded, observer: observer, body))
    }

    /// Writes before it returns.
    @_disfavoredOverload
    @inlinable
    @inline(__always)
    public func submitWrite<Value, Observer: EntryObserver, Result: Sendable>(
        _ guarded: GuardedValue<Value>,
        observer: Observer,
        _ body: @escaping @Sendable (inout Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        completion(write(guarded, observer: observer, body))
    }

    /// The same as `read`.
    @inlinable
    public func readHoldingWriters<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try read(guarded, observer: observer, body)
    }

    /// Reads before it returns.
    @_disfavoredOverload
    @inlinable
    public static func submitReadAll<Value, Observer: EntryObserver, Result: Sendable>(
        _ strategies: [Self],
        _ guarded: [GuardedValue<Value>],
        observers: [Observer],
        _ body: @escaping @Sendable ([Value]) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) {
        completion(readAll(strategies, guarded, observers: observers, body))
    }

    /// Writes before it returns.
    @_disfavoredOverload
    @inlinable
    public static func submitWriteAll<Value, Observer: EntryObserver, Result: Sendable>(
        _ strategies: [Self],
        _ guarded: [GuardedValue<Value>],
        observers: [Observer],
        _ body: @escaping @Sendable (inout [Value]) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        completion(writeAll(strategies, guarded, observers: observers, body))
    }

    /// Runs `body` with shared access to all values at once, before it returns.
    ///
    /// See ``Strategy/submitReadAll(_:_:observers:_:completion:)``.
    @inlinable
    static func readAll<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ strategies: [Self],
        _ guarded: [GuardedValue<Value>],
        observers: [Observer],
        _ body: ([Value]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try holding(.read, strategies, observers: observers) { () throws(Failure) -> Result in
            try SeveralValues.read(guarded, body)
        }
    }

    /// Lends the values to `body` inside ``holding(_:_:observers:_:)``.
    @inlinable
    public static func writeAll<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ strategies: [Self],
        _ guarded: [GuardedValue<Value>],
        observers: [Observer],
        _ body: (inout [Value]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try holding(.write, strategies, observers: observers) { () throws(Failure) -> Result in
            try SeveralValues.write(guarded, body)
        }
    }

    /// Enters one after the other.
    @inlinable
    public static func holding<Observer: EntryObserver, Result, Failure: Error>(
        _ mode: AccessMode,
        _ strategies: [Self],
        observers: [Observer],
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try holdingEach(mode, strategies, observers, body)
    }

    @inlinable
    static func holdingEach<Observer: EntryObserver, Result, Failure: Error>(
        _ mode: AccessMode,
        _ strategies: [Self],
        _ observers: [Observer],
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var releases: [Release] = []
        releases.reserveCapacity(strategies.count)
        defer {
            for release in releases.reversed() {
                release()
            }
        }
        for (strategy, observer) in zip(strategies, observers) {
            releases.append(strategy.hold(mode, observer: observer))
        }
        return try body()
    }
}
