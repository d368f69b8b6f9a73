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
///
/// **Decorating a strategy.** Every requirement takes the cell and the observer, so that a
/// strategy which wraps another can forward each call with an observer of its own:
///
/// ```swift
/// struct Metered<Base: Strategy>: Strategy {  // types of parameters left out
///     let base: Base
///     let meter: Meter
///
///     static var name: String { Base.name }
///     static var traits: StrategyTraits { Base.traits }
///     var backlogCount: Int { base.backlogCount }
///
///     func submitRead(_ cell, observer, _ body, completion) {
///         base.submitRead(cell, observer: meter, body, completion)
///     }
///     static func submitReadAll(_ strategies, _ cells, observers, _ body, completion) {
///         let meters = strategies.map(\.meter)
///         Base.submitReadAll(strategies.map(\.base), cells, observers: meters, body, completion)
///     }
/// }
/// extension Metered: BlockingStrategy where Base: BlockingStrategy { read, write, holdWriters, … }
/// extension Metered: TryingStrategy where Base: TryingStrategy { tryWrite }
/// ```
///
/// A wrapper forwards *all* requirements, those with a default too: the defaults call `read` and
/// `write`, which is not what an asynchronous base does.
public protocol Strategy: Sendable {
    /// How the strategy is called in messages. The same as ``StrategyKind/rawValue`` for a
    /// strategy that has a kind.
    static var name: String { get }

    /// What the strategy promises.
    static var traits: StrategyTraits { get }

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

    /// Submits `body` for shared access to all `cells` at once and calls `completion` with its
    /// result: no write to any of them takes effect while `body` runs.
    ///
    /// The cells are taken in the order given, which must be the same for all callers.
    ///
    /// - Parameters:
    ///   - strategies: The guard of each cell.
    ///   - cells: As many cells as strategies.
    ///   - observers: As many observers as cells. Each hears of the access to its cell.
    ///   - body: Given the values, in the order of the cells.
    ///   - completion: Called exactly once, outside all guarded sections.
    static func submitReadAll<Value, Observer: EntryObserver, Result: Sendable>(
        _ strategies: [Self],
        _ cells: [Cell<Value>],
        observers: [Observer],
        _ body: @escaping @Sendable ([Value]) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    )

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

    /// Enters for reading and stays inside: no write takes effect until the calling thread calls
    /// what this returns.
    ///
    /// The blocking form without a body, with which many guards are held at once, in a loop. Who
    /// else can read meanwhile is up to the strategy. Where this has returned, the place of the
    /// cell holds its present value.
    func holdWriters<Observer: EntryObserver>(observer: Observer) -> WriterRelease
}

/// Leaves a guarded section that ``BlockingStrategy/holdWriters(observer:)`` entered.
///
/// Called once, on the thread that entered.
public typealias WriterRelease = () -> Void

/// A strategy that can be entered only if that is possible at once.
///
/// A refinement of its own, since not every primitive can be tried: a queue cannot, and `mutex`
/// must not.
public protocol TryingStrategy: BlockingStrategy {
    /// Runs `body` with exclusive access, or returns nil if the caller would have to wait.
    func tryWrite<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result?
}

/// A strategy with a case in ``StrategyKind``.
public protocol NamedStrategy: Strategy {
    /// The case.
    static var kind: StrategyKind { get }

    /// One sentence about the strategy, for tables.
    static var summary: String { get }

    init()

    /// - Parameter backlogMax: How many accepted writes may wait to be applied. A strategy that
    ///   applies a write before the call returns has no use for it.
    init(backlogMax: Int)
}

extension NamedStrategy {
    @inlinable
    public init(backlogMax: Int) {
        self.init()
    }

    @inlinable public static var name: String { kind.rawValue }
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

    @inlinable
    public static func submitReadAll<Value, Observer: EntryObserver, Result: Sendable>(
        _ strategies: [Self],
        _ cells: [Cell<Value>],
        observers: [Observer],
        _ body: @escaping @Sendable ([Value]) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) {
        completion(readAll(strategies, cells, observers: observers, body))
    }

    /// Runs `body` with shared access to all `cells` at once, before it returns.
    ///
    /// See ``Strategy/submitReadAll(_:_:observers:_:completion:)``.
    @inlinable
    public static func readAll<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ strategies: [Self],
        _ cells: [Cell<Value>],
        observers: [Observer],
        _ body: ([Value]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        precondition(
            strategies.count == cells.count && observers.count == cells.count,
            "Each cell has one guard and one observer."
        )
        var values: [Value] = []
        var releases: [WriterRelease] = []
        values.reserveCapacity(cells.count)
        releases.reserveCapacity(cells.count)
        defer {
            // The copies end before the guards do: a writer who comes next must not find its
            // value shared, or it would copy it.
            values = []
            for release in releases.reversed() {
                release()
            }
        }
        for (index, cell) in cells.enumerated() {
            releases.append(strategies[index].holdWriters(observer: observers[index]))
            unsafe values.append(cell.place.pointee.read { $0 })
        }
        return try body(values)
    }
}
