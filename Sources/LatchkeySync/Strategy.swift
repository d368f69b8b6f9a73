/// How shared and exclusive access to a value is given.
///
/// A strategy holds no value: it guards a ``Cell``, together with which it is kept by
/// ``Synchronized``. It is used through two kinds of door. The *blocking* doors of
/// ``BlockingStrategy`` run the body before they return. The *submitting* doors here exist for
/// every strategy: the body may run later, on another thread, and the completion says so. A
/// strategy that blocks runs both before it returns.
///
/// Promised by every strategy: a body for writing excludes every other body; an access that
/// begins after another one has ended sees what that one wrote; the completion is called exactly
/// once, outside the guarded section; writes submitted by one thread are applied in order.
public protocol Strategy: Sendable {
    /// Submits `body` for shared access and calls `completion` with its result.
    func submitRead<Value, Observer: EntryObserver, Result: Sendable>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: @escaping @Sendable (Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    )

    /// Submits `body` for exclusive access and calls `completion` with its result.
    ///
    /// - Throws: ``BacklogFull`` if as many writes wait as the strategy accepts. Nothing was
    ///   submitted then, and neither closure is called.
    func submitWrite<Value, Observer: EntryObserver, Result: Sendable>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: @escaping @Sendable (inout Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull)

    /// The number of writes that were accepted and are not yet applied. 0 for a strategy that
    /// applies a write before the call returns.
    var backlogCount: Int { get }
}

/// An asynchronous strategy refused a write because its backlog is at its bound.
public struct BacklogFull: Error, Hashable, Sendable {
    @inlinable public init() {}
}

/// A strategy that can run a body before the call returns.
///
/// All are, except `actor`.
public protocol BlockingStrategy: Strategy {
    /// Runs `body` with shared access: other readers may be inside where
    /// ``StrategyTraits/allowsConcurrentReaders`` says so, writers never.
    func read<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result

    /// Runs `body` with exclusive access. If it throws, what it did to the value stays, except
    /// under `snapshot`, which then publishes nothing.
    func write<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result

    /// Like ``read(_:observer:_:)``, and no write takes effect while `body` runs. The same thing
    /// for every strategy but `snapshot`, whose readers do not hold writers up.
    func readHoldingWriters<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result
}

/// A strategy with a name: one of the fourteen.
public protocol NamedStrategy: Strategy {
    static var kind: StrategyKind { get }
    static var traits: StrategyTraits { get }

    init()
}

extension BlockingStrategy {
    @inlinable public var backlogCount: Int { 0 }

    @inlinable
    public func submitRead<Value, Observer: EntryObserver, Result: Sendable>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: @escaping @Sendable (Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) {
        completion(read(cell, observer: observer, body))
    }

    @inlinable
    public func submitWrite<Value, Observer: EntryObserver, Result: Sendable>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: @escaping @Sendable (inout Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        completion(write(cell, observer: observer, body))
    }

    @inlinable
    public func readHoldingWriters<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try read(cell, observer: observer, body)
    }
}
