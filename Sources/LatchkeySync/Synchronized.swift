/// A value and the strategy that guards it.
///
/// ```swift
/// let scores = Synchronized<[String: Int], LockStrategy>([:])
/// scores.write { $0["ada", default: 0] += 1 }
/// let best = scores.read { $0.values.max() }
/// ```
///
/// The access functions here are the only way to the value. Their bodies are synchronous, and
/// nothing of the value outlives a body unless the body returns a copy.
///
/// There are three kinds of access function. ``read(observer:fileID:line:_:)`` and
/// ``write(observer:fileID:line:_:)`` block, and exist for every strategy but `actor`.
/// ``submitRead(observer:fileID:line:_:completion:)`` and
/// ``submitWrite(observer:fileID:line:_:completion:)`` exist for every strategy and may complete
/// later. ``asyncRead(observer:fileID:line:_:)`` and ``asyncWrite(observer:fileID:line:_:)`` are
/// the same for tasks.
///
/// **Re-entrancy.** A thread that is inside may read inside a read where
/// ``StrategyTraits/isReentrant`` says so. It must not enter in any other way: a write inside a
/// read or a write, and a read inside a write, are programmer errors under every strategy. Debug
/// builds, and builds with `-D LATCHKEY_CHECKED`, stop with a sentence that names the strategy and
/// both places. Other builds do what the primitive does, which is written at each strategy.
public final class Synchronized<Value: Sendable, ChosenStrategy: Strategy>: Sendable {
    @usableFromInline let strategy: ChosenStrategy
    @usableFromInline let guarded: GuardedValue<Value>

    /// - Parameters:
    ///   - value: The value to begin with.
    ///   - strategy: Guards this value and no other.
    @inlinable
    public init(_ value: consuming Value, strategy: ChosenStrategy) {
        self.strategy = strategy
        guarded = GuardedValue(value)
    }

    /// A value with a strategy of its own.
    @inlinable
    public convenience init(_ value: consuming Value) where ChosenStrategy: MakeableStrategy {
        self.init(value, strategy: ChosenStrategy())
    }

    /// The number of writes that were accepted and are not yet applied.
    @inlinable public var backlogCount: Int { strategy.backlogCount }
}

extension Synchronized where ChosenStrategy: BlockingStrategy {
    /// Runs `body` with shared access to the value and returns its result.
    ///
    /// For the strategy `lock` equivalent to:
    ///
    /// ```swift
    /// lock.lock()
    /// defer { lock.unlock() }
    /// return try body(value)
    /// ```
    ///
    /// Blocks the calling thread while a writer is inside (never under `snapshot`). Other readers
    /// may be inside at the same time if ``StrategyTraits/allowsConcurrentReaders`` is true. The
    /// body sees the writes of every access that ended before this one began.
    ///
    /// - Parameters:
    ///   - observer: Hears of this access.
    ///   - fileID: Named in the message of the re-entry check.
    ///   - line: Named in the message of the re-entry check.
    ///   - body: Given the value, which is not copied for it. Must not enter the value again,
    ///     except to read it where the strategy is re-entrant.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    @inlinable
    public func read<Observer: EntryObserver, Result, Failure: Error>(
        observer: Observer = NoObserver(),
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try Reentry.checking(ChosenStrategy.self, guarded, .read, Caller(fileID, line)) {
            () throws(Failure) -> Result in
            try strategy.read(guarded, observer: observer, body)
        }
    }

    /// Runs `body` with exclusive access to the value and returns its result.
    ///
    /// For the strategy `lock` equivalent to:
    ///
    /// ```swift
    /// lock.lock()
    /// defer { lock.unlock() }
    /// return try body(&value)
    /// ```
    ///
    /// Blocks the calling thread while another one is inside (only other writers under `snapshot`).
    /// Under an asynchronous strategy it waits behind the writes that were submitted before.
    ///
    /// - Parameters:
    ///   - observer: Hears of this access.
    ///   - fileID: Named in the message of the re-entry check.
    ///   - line: Named in the message of the re-entry check.
    ///   - body: Given the value to change. Must not enter the value again.
    /// - Returns: What `body` returns.
    /// - Throws: The error of `body`. Its changes to the value stay, except under `snapshot`, which
    ///   then publishes nothing.
    @inlinable
    public func write<Observer: EntryObserver, Result, Failure: Error>(
        observer: Observer = NoObserver(),
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try Reentry.checking(ChosenStrategy.self, guarded, .write, Caller(fileID, line)) {
            () throws(Failure) -> Result in
            try strategy.write(guarded, observer: observer, body)
        }
    }

    /// Runs `body` with shared access to the value while no write takes effect.
    ///
    /// Differs from ``read(observer:fileID:line:_:)`` only under `snapshot`, whose readers do not
    /// delay writers. To read several values consistently, hold all of them, always in the same
    /// order.
    @inlinable
    public func readHoldingWriters<Observer: EntryObserver, Result, Failure: Error>(
        observer: Observer = NoObserver(),
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try Reentry.checking(
            ChosenStrategy.self,
            guarded,
            .readHoldingWriters,
            Caller(fileID, line)
        ) {
            () throws(Failure) -> Result in
            try strategy.readHoldingWriters(guarded, observer: observer, body)
        }
    }
}

extension Synchronized where ChosenStrategy: TryingStrategy {
    /// Runs `body` with exclusive access to the value, unless the caller would have to wait.
    ///
    /// Never blocks before `body` runs. A failed try is not an access: the observer does not hear
    /// of it. It also fails while another thread's failed try holds the lock for a moment, so do
    /// not wait for it in a loop.
    ///
    /// - Returns: What `body` returns, or nil if it did not run.
    @inlinable
    public func tryWrite<Observer: EntryObserver, Result, Failure: Error>(
        observer: Observer = NoObserver(),
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try Reentry.checking(ChosenStrategy.self, guarded, .write, Caller(fileID, line)) {
            () throws(Failure) -> Result? in
            try strategy.tryWrite(guarded, observer: observer, body)
        }
    }
}
