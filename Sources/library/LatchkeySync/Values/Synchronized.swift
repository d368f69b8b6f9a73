/// A value and the strategy that guards it.
///
/// ```swift
/// let scores = Synchronized<[String: Int], SpinStrategy>([:])
/// scores.write { $0["ada", default: 0] += 1 }
/// let best = scores.read { $0.values.max() }
/// ```
///
/// The access functions here are the only way to the value. Their bodies are synchronous, and
/// nothing of the value outlives a body unless the body returns a copy.
///
/// There are three kinds of access function. ``read(fileID:line:_:)`` and
/// ``write(fileID:line:_:)`` block, and exist for every strategy but `actor`.
/// ``submitRead(fileID:line:_:completion:)`` and
/// ``submitWrite(fileID:line:_:completion:)`` exist for every strategy and may complete
/// later. ``asyncRead(whenFull:fileID:line:_:)`` and
/// ``asyncWrite(whenFull:fileID:line:_:)`` are the same for tasks.
///
/// **Re-entrancy.** A thread that is inside may read inside a read where
/// ``StrategyTraits/isReentrant`` says so. It must not enter in any other way: a write inside a
/// read or a write, and a read inside a write, are programmer errors under every strategy. Debug
/// builds, and builds with the package trait `LATCHKEY_CHECKED`, stop with a message that names the
/// strategy, both access functions and both places, except the place of ``value``: a property does
/// not learn where it is used. Other builds do what the primitive does, as the page of each
/// strategy says. Where a thread would wait for itself, a try is refused, and a wait with a
/// deadline gives up.
public struct Synchronized<Value: ~Copyable, ChosenStrategy: Strategy>: Sendable {
    @usableFromInline package let strategy: ChosenStrategy
    @usableFromInline package let guarded: GuardedValue<Value>

    /// A value that the strategy guards already.
    @inlinable package init(_ guarded: GuardedValue<Value>, _ strategy: ChosenStrategy) {
        _ = ChosenStrategy.strategyPromise
        self.strategy = strategy
        self.guarded = guarded
    }

    /// The number of writes that were accepted and are not yet applied.
    @inlinable public var backlogCount: Int { strategy.backlogCount }

    /// The same value, with an observer that also hears of the accesses through the result.
    @inlinable public func observed<Observer: EntryObserver>(
        by observer: Observer
    ) -> Synchronized<Value, ObservedStrategy<ChosenStrategy, Observer>> {
        Synchronized<Value, ObservedStrategy<ChosenStrategy, Observer>>(
            guarded,
            ObservedStrategy(strategy, by: observer)
        )
    }
}

// Where both of the first two pairs fit, the third one is more specific, so that no call is
// ambiguous.

extension Synchronized where Value: Sendable {
    /// - Parameters:
    ///   - value: The value to begin with.
    ///   - strategy: Guards this value and no other.
    @inlinable public init(_ value: consuming Value, strategy: ChosenStrategy) {
        self.init(GuardedValue(value), strategy)
        strategy.begin(guarded)
    }

    /// A value with a strategy of its own.
    @inlinable public init(_ value: consuming Value) where ChosenStrategy: MakeableStrategy {
        let guarded = GuardedValue(value)
        self.init(guarded, ChosenStrategy(in: guarded))
        strategy.begin(guarded)
    }
}

extension Synchronized where Value: ~Copyable, ChosenStrategy: InPlaceStrategy {
    /// - Parameters:
    ///   - value: The value to begin with, which no other code may use any more.
    ///   - strategy: Guards this value and no other.
    @inlinable public init(_ value: consuming sending Value, strategy: ChosenStrategy) {
        self.init(GuardedValue(value), strategy)
    }

    /// A value with a strategy of its own.
    @inlinable
    public init(_ value: consuming sending Value) where ChosenStrategy: MakeableStrategy {
        let guarded = GuardedValue(value)
        self.init(guarded, ChosenStrategy(in: guarded))
    }
}

extension Synchronized where Value: Sendable, ChosenStrategy: InPlaceStrategy {
    /// - Parameters:
    ///   - value: The value to begin with.
    ///   - strategy: Guards this value and no other.
    @inlinable public init(_ value: consuming Value, strategy: ChosenStrategy) {
        self.init(GuardedValue(value), strategy)
    }

    /// A value with a strategy of its own.
    @inlinable public init(_ value: consuming Value) where ChosenStrategy: MakeableStrategy {
        let guarded = GuardedValue(value)
        self.init(guarded, ChosenStrategy(in: guarded))
    }
}

extension Synchronized where Value: ~Copyable {
    /// Not available: a strategy that does not use the value in its place copies it, or sends it.
    @available(
        *,
        unavailable,
        message: """
            this strategy needs a value that is copyable and Sendable, as 'snapshot', whose \
            writers change a copy while readers use the value. Choose another strategy.
            """
    )
    public init(_ value: consuming sending Value) { fatalError() }
}

extension Synchronized where Value: Sendable, ChosenStrategy: BlockingStrategy {
    /// Runs `body` with shared access to the value and returns its result.
    ///
    /// For the strategy `lock` equivalent to:
    ///
    /// ```
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
    ///   - fileID: Named in reports of waits, and in the message of the re-entry check.
    ///   - line: The same.
    ///   - body: Given the value, which is not copied for it. Must not enter the value again,
    ///     except to read it where the strategy is re-entrant.
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`.
    @inlinable public func read<Result, Failure: Error>(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try read(AccessRequest(.read, at: CallSite(fileID, line)), "read", body)
    }

    /// Runs `body` with exclusive access to the value and returns its result.
    ///
    /// For the strategy `lock` equivalent to:
    ///
    /// ```
    /// lock.lock()
    /// defer { lock.unlock() }
    /// return try body(&value)
    /// ```
    ///
    /// Blocks the calling thread while another one is inside (only other writers under `snapshot`).
    /// Under an asynchronous strategy it waits for the writes that were submitted before.
    ///
    /// - Parameters:
    ///   - fileID: Named in reports of waits, and in the message of the re-entry check.
    ///   - line: The same.
    ///   - body: Given the value to change. Must not enter the value again.
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`. Its changes to the value stay, except under `snapshot`, which
    ///   then publishes nothing.
    @inlinable public func write<Result, Failure: Error>(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try write(CallSite(fileID, line), "write", body)
    }

    /// Runs `body` with shared access to the value while no write takes effect.
    ///
    /// Differs from ``read(fileID:line:_:)`` only under `snapshot`, whose readers do not delay
    /// writers. To read several values consistently, hold all of them, always in the same order.
    @inlinable public func readHoldingWriters<Result, Failure: Error>(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let site = CallSite(fileID, line)
        let request = AccessRequest(.read, at: site, keepsWritersOut: true)
        return try read(request, "readHoldingWriters", body)
    }

    /// Reads in the name of an access function.
    @inlinable @inline(__always) func read<Result, Failure: Error>(
        _ request: AccessRequest,
        _ name: StaticString,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try enter(request, name) { () throws(Failure) -> Result in
            try reading(body)
        }
    }

    /// Writes in the name of an access function.
    @inlinable @inline(__always) func write<Result, Failure: Error>(
        _ site: CallSite,
        _ name: StaticString,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try enter(AccessRequest(.write, at: site), name) { () throws(Failure) -> Result in
            try writing(body)
        }
    }
}

extension Synchronized where Value: Sendable & ~Copyable, ChosenStrategy: BlockingStrategy {
    /// Runs `body` with shared access to a value that cannot be copied.
    ///
    /// As ``read(fileID:line:_:)`` of a copyable value.
    @inlinable public func read<Result: ~Copyable, Failure: Error>(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (borrowing Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try enter(AccessRequest(.read, at: CallSite(fileID, line)), "read") {
            () throws(Failure) -> Result in
            try unsafe strategy.reading(guarded) { (lent) throws(Failure) -> Result in
                try body(lent.stored)
            }
        }
    }
}

extension Synchronized where Value: ~Copyable, ChosenStrategy: InPlaceStrategy {
    /// Runs `body` with exclusive access to the value and returns its result.
    ///
    /// As `Mutex.withLock`: the value need not be copyable or `Sendable`. Parts that the body takes
    /// out of it, or puts into it, must not be used elsewhere (`sending`). The compiler checks
    /// that. Only one case is not found by Swift 6.3, as with `Mutex`: a body that returns a
    /// reference to the value itself or to a part of it, which is then used without the lock.
    /// Blocks and nests as ``write(fileID:line:_:)``.
    @inlinable public func withLock<Result: ~Copyable, Failure: Error>(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        _ = ChosenStrategy.inPlacePromise
        return try enter(AccessRequest(.write, at: CallSite(fileID, line)), "withLock") {
            () throws(Failure) -> Disconnected<Result> in
            Disconnected(try unsafe guarded.write(body))
        }.taken()
    }
}

extension Synchronized
where Value: ~Copyable, ChosenStrategy: InPlaceStrategy & LockingStrategy {
    /// Runs `body` with exclusive access to the value, unless the caller would have to wait.
    ///
    /// As `Mutex.withLockIfAvailable`, for the values of ``withLock(fileID:line:_:)``. Never blocks
    /// before `body` runs. Fails as ``tryWrite(fileID:line:_:)`` does.
    ///
    /// - Returns: The result of `body`, or nil if it did not run.
    @inlinable public func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        _ = ChosenStrategy.inPlacePromise
        let request = AccessRequest(.write, at: CallSite(fileID, line))
        let result = try tryEnter(request, "withLockIfAvailable") {
            () throws(Failure) -> Disconnected<Result> in
            Disconnected(try unsafe guarded.write(body))
        }
        return switch consume result {
        case .some(let result): result.taken()
        case nil: nil
        }
    }
}

/// A result that no other code uses, on its way out of a guarded section.
///
/// SAFETY: `@unchecked Sendable` because it is made of a `sending` result and taken once.
@usableFromInline struct Disconnected<Result: ~Copyable>: ~Copyable, @unchecked Sendable {
    // SAFETY: taken once, by the code that consumes this.
    @usableFromInline nonisolated(unsafe) var result: Result

    @inlinable init(_ result: consuming sending Result) {
        unsafe self.result = result
    }

    @inlinable consuming func taken() -> sending Result {
        unsafe result
    }
}
