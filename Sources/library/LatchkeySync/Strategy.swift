/// The way to get shared and exclusive access to a value.
///
/// A strategy holds no value. It guards a section of code; ``Synchronized`` keeps it together with
/// a ``GuardedValue``. It answers two questions. *How does a body get in?* Every strategy lets
/// bodies in that are *submitted*: they may run later, on another thread, and then the completion
/// is called. ``BlockingStrategy`` runs a body before the call returns. *Where is the value for a
/// body inside?* In its place, unless a strategy says otherwise, as `snapshot` does.
///
/// Every strategy promises: a body for writing excludes every other body; an access that begins
/// after another one has ended sees its writes; the completion is called exactly once, outside the
/// guarded section; writes that one thread submits are applied in order.
///
/// **Ways to write one.** A lock is a ``RawLock``, and ``RawLockStrategy`` is its strategy. A
/// dispatch queue is a ``QueueStyle``, and ``QueueStrategy`` is its strategy. ``ObservedStrategy``
/// adds an observer to any strategy.
///
/// A strategy of another kind has a ``name``, ``traits`` and a ``Promise`` for each of these
/// protocols that it conforms to:
/// - ``InPlaceStrategy``, if it can block and leaves the value in its place. It implements
///   ``BlockingStrategy/access(_:observer:_:)`` and ``BlockingStrategy/hold(_:observer:)``. Only it
///   can guard values that cannot be copied or are not `Sendable`.
/// - ``BlockingStrategy``, if it keeps the value elsewhere. It implements these two, and
///   ``reading(_:_:)``, ``writing(_:_:)`` and ``begin(_:)``. The default of ``writingAll(_:_:_:)``,
///   which lends copies, is right for it.
/// - This protocol alone, if it cannot block. It implements ``backlogCount``,
///   ``submit(_:observer:_:completion:)``, ``submitAll(_:_:observers:_:completion:)`` and
///   ``awaiting(_:observer:whenFull:_:)``.
///
/// It calls the observer that each access is given, as ``EntryObserver`` says. A meter is such an
/// observer, and sees no access of a strategy that does not call it.
///
/// It can conform to ``LockingStrategy`` too, if it can refuse, and to ``MakeableStrategy``, if it
/// needs no arguments.
public protocol Strategy: Sendable {
    /// The strategy's name in messages: ``StrategyKind/rawValue`` for a strategy that has a kind.
    static var name: String { get }

    /// The promises of the strategy.
    static var traits: StrategyTraits { get }

    /// This strategy, or the one that does the work for one that is chosen at run time.
    ///
    /// Its type has the name and the traits for messages and checks of re-entry.
    var erased: any Strategy { get }

    /// The number of writes that were accepted and are not yet applied. 0 for a strategy that
    /// applies a write before the call returns.
    var backlogCount: Int { get }

    /// Submits `body` and calls `completion` with its result.
    ///
    /// - Throws: ``BacklogFull`` if the backlog is full. Then nothing was submitted, and neither
    ///   closure is called. A read is refused under `actor` only.
    func submit<Observer: EntryObserver, Result: Sendable>(
        _ request: AccessRequest,
        observer: Observer,
        _ body: @escaping @Sendable () -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull)

    /// Submits `body`, which runs inside the sections of all strategies at once, and calls
    /// `completion` with its result: an access to all of them sees every write of `body` or none.
    ///
    /// - Parameters:
    ///   - request: The request to each.
    ///   - strategies: Entered in the order given, which must be the same for all callers.
    ///   - observers: As many observers as strategies. Each hears of the access to its value.
    ///   - body: Runs once.
    ///   - completion: Called exactly once, outside all guarded sections.
    /// - Throws: ``BacklogFull`` if as many writes to one of the values wait as its strategy
    ///   accepts. Nothing was submitted then, and neither closure is called. A read is not refused.
    static func submitAll<Observer: EntryObserver, Result: Sendable>(
        _ request: AccessRequest,
        _ strategies: [Self],
        observers: [Observer],
        _ body: @escaping @Sendable () -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull)

    /// Runs `body` inside and returns its result to the calling task.
    ///
    /// A strategy that blocks runs the body on the task's thread, one that is a queue with a
    /// backlog runs it on the queue while the task is suspended, and an actor is awaited. The body
    /// runs exactly once, or this throws and it never runs: also for a task that is cancelled
    /// before.
    nonisolated(nonsending) func awaiting<Observer: EntryObserver, Result: Sendable>(
        _ request: AccessRequest,
        observer: Observer,
        whenFull: WhenFull,
        _ body: @Sendable () -> Result
    ) async throws(AccessRefused) -> Result

    /// Prepares for the value, once, before the first access.
    ///
    /// It is not called for an ``InPlaceStrategy``, whose value need be neither copyable nor
    /// `Sendable`.
    func begin<Value>(_ guarded: GuardedValue<Value>)

    // The next three do not synchronize: the caller is inside, and writes `unsafe`.

    /// Lends the value to a body that reads, from inside.
    @unsafe func reading<Value: ~Copyable, Result: ~Copyable, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        _ body: (borrowing LentValue<Value>) throws(Failure) -> Result
    ) throws(Failure) -> Result

    /// Lends the value to a body that may change it, from inside.
    @unsafe func writing<Value, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result

    /// Lends several values, from inside all of them.
    ///
    /// - Parameters:
    ///   - strategies: The strategy of each value.
    ///   - guarded: As many values as strategies.
    ///   - body: Given the values in the same order. Keeps their number.
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`.
    @unsafe static func writingAll<Value, Result, Failure: Error>(
        _ strategies: [Self],
        _ guarded: [GuardedValue<Value>],
        _ body: (inout [Value]) throws(Failure) -> Result
    ) throws(Failure) -> Result

    /// The promises above, and those of the traits.
    static var strategyPromise: Promise<Self> { get }
}

// The value is in its place.

extension Strategy {
    /// This strategy.
    public var erased: any Strategy { self }

    /// Does nothing.
    @inlinable public func begin<Value>(_ guarded: GuardedValue<Value>) {}

    /// Lends the value itself.
    @unsafe @inlinable @inline(__always)
    public func reading<Value: ~Copyable, Result: ~Copyable, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        _ body: (borrowing LentValue<Value>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe guarded.read(body)
    }

    /// Lends the value itself.
    @unsafe @inlinable @inline(__always) public func writing<Value, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe guarded.write(body)
    }

    /// Lends copies, which replace the values unless `body` throws.
    @unsafe @inlinable public static func writingAll<Value, Result, Failure: Error>(
        _ strategies: [Self],
        _ guarded: [GuardedValue<Value>],
        _ body: (inout [Value]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var values = SeveralValues.copies(strategies, guarded)
        let result = try body(&values)
        SeveralValues.expect(values.count, of: guarded.count)
        for (index, guarded) in guarded.enumerated() {
            unsafe strategies[index].writing(guarded) { $0 = values[index] }
        }
        return result
    }
}

/// A strategy whose value is in its place for every access.
///
/// Every strategy is one, except `snapshot`, whose writers copy, and `actor`, which has no access
/// that blocks. So the value need not be copyable, nor safe to use by several threads at once.
public protocol InPlaceStrategy: BlockingStrategy {
    /// That accesses use the value in its place, and not a copy.
    static var inPlacePromise: Promise<Self> { get }
}

extension InPlaceStrategy {
    /// Lends the values themselves.
    @unsafe @inlinable public static func writingAll<Value, Result, Failure: Error>(
        _ strategies: [Self],
        _ guarded: [GuardedValue<Value>],
        _ body: (inout [Value]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try SeveralValues.write(guarded, body)
    }
}

/// A strategy that can be made without arguments.
public protocol MakeableStrategy: Strategy {
    /// One sentence about the strategy, for tables.
    static var summary: String { get }

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
    /// Empty.
    public static var summary: String { "" }

    /// Makes a strategy for one value, and does not use the memory.
    @inlinable public init(in memory: LockMemory) {
        self.init()
    }

    /// Makes a strategy for one value, which needs no backlog.
    @inlinable public init(backlogMax: Int) {
        self.init()
    }
}
