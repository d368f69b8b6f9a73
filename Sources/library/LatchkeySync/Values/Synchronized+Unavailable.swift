// The compiler's messages where an access function does not exist, or is given no body.

extension Synchronized where Value: Sendable {
    /// Not available: a read takes a body.
    @available(*, unavailable, message: "'read' takes a body: 'read { … }'; a copy is 'value'")
    public func read(_ notABody: Value) { fatalError() }

    /// Not available: with a guarded closure, a body would replace the value.
    @available(*, unavailable, message: "'write' takes a body; 'exchange' replaces the value")
    public func write(_ notABody: Value) { fatalError() }

    /// Not available where the primitive cannot be tried.
    @available(
        *,
        unavailable,
        message: "this strategy cannot be tried: it is no LockingStrategy, as 'adaptive' is"
    )
    public func tryRead<Result, Failure: Error>(
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? { fatalError() }

    /// Not available where the primitive cannot be tried.
    @available(
        *,
        unavailable,
        message: "this strategy cannot be tried: it is no LockingStrategy, as 'adaptive' is"
    )
    public func tryWrite<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? { fatalError() }

    /// Not available where the primitive cannot give up.
    @available(
        *,
        unavailable,
        message: "this strategy cannot wait with a deadline: it has no TimedLock, as 'adaptive' has"
    )
    public func read<Result, Failure: Error>(
        deadline: ContinuousClock.Instant,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? { fatalError() }

    /// Not available where the primitive cannot give up.
    @available(
        *,
        unavailable,
        message: "this strategy cannot wait with a deadline: it has no TimedLock, as 'adaptive' has"
    )
    public func write<Result, Failure: Error>(
        deadline: ContinuousClock.Instant,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? { fatalError() }

    /// Not available where the primitive cannot wait for a condition.
    @available(
        *,
        unavailable,
        message:
            "this strategy cannot wait for a condition: it has no ConditionLock, as 'adaptive' has"
    )
    public func read<Result, Failure: Error>(
        when condition: (Value) -> Bool,
        deadline: ContinuousClock.Instant? = nil,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? { fatalError() }

    /// Not available where the primitive cannot wait for a condition.
    @available(
        *,
        unavailable,
        message:
            "this strategy cannot wait for a condition: it has no ConditionLock, as 'adaptive' has"
    )
    public func write<Result, Failure: Error>(
        when condition: (Value) -> Bool,
        deadline: ContinuousClock.Instant? = nil,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? { fatalError() }

    /// Not available where the primitive cannot wait for a condition.
    @available(
        *,
        unavailable,
        message:
            "this strategy cannot wait for a condition: it has no ConditionLock, as 'adaptive' has"
    )
    public func asyncRead<Result: Sendable>(
        when condition: (Value) -> Bool,
        _ body: @Sendable (Value) -> Result
    ) async throws(AccessRefused) -> Result { fatalError() }

    /// Not available where the primitive cannot wait for a condition.
    @available(
        *,
        unavailable,
        message:
            "this strategy cannot wait for a condition: it has no ConditionLock, as 'adaptive' has"
    )
    public func asyncWrite<Result: Sendable>(
        when condition: (Value) -> Bool,
        _ body: @Sendable (inout Value) -> Result
    ) async throws(AccessRefused) -> Result { fatalError() }
}

extension Synchronized where Value: ~Copyable, ChosenStrategy: InPlaceStrategy {
    /// Not available for a value that cannot be copied.
    @available(
        *,
        unavailable,
        message: "a value that is not copyable is changed by 'withLock', which lends it in place"
    )
    public func write<Result: ~Copyable, Failure: Error>(
        when condition: ((borrowing Value) -> Bool)? = nil,
        deadline: ContinuousClock.Instant? = nil,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result { fatalError() }

    /// Not available for a value that cannot be copied.
    @available(
        *,
        unavailable,
        message: "a value that is not copyable has 'withLock' and a plain 'read' that waits"
    )
    public func read<Result: ~Copyable, Failure: Error>(
        when condition: ((borrowing Value) -> Bool)? = nil,
        deadline: ContinuousClock.Instant? = nil,
        _ body: (borrowing Value) throws(Failure) -> Result
    ) throws(Failure) -> Result { fatalError() }

    /// Not available for a value that cannot be copied.
    @available(
        *,
        unavailable,
        message: "a value that is not copyable is changed by 'withLock', which lends it in place"
    )
    public func exchange(_ newValue: consuming Value) { fatalError() }

    /// Not available for a value that cannot be copied.
    @available(
        *,
        unavailable,
        message: "a value that is not copyable is changed by 'withLock', which lends it in place"
    )
    public func asyncWrite<Result>(
        when condition: ((borrowing Value) -> Bool)? = nil,
        whenFull: WhenFull = .wait,
        _ body: (inout Value) -> Result
    ) async throws(AccessRefused) -> Result { fatalError() }

    /// Not available for a value that cannot be copied.
    @available(
        *,
        unavailable,
        message: "a value that is not copyable has 'withLock' and a plain 'read' that waits"
    )
    public func asyncRead<Result>(
        when condition: ((borrowing Value) -> Bool)? = nil,
        whenFull: WhenFull = .wait,
        _ body: (borrowing Value) -> Result
    ) async throws(AccessRefused) -> Result { fatalError() }

    /// Not available for a value that cannot be copied.
    @available(
        *,
        unavailable,
        message: "a value that is not copyable is changed by 'withLock', which lends it in place"
    )
    public func submitWrite<Result>(
        _ body: (inout Value) -> Result,
        completion: (Result) -> Void
    ) throws(BacklogFull) { fatalError() }

    /// Not available for a value that cannot be copied.
    @available(
        *,
        unavailable,
        message: "a value that is not copyable has 'withLock' and a plain 'read' that waits"
    )
    public func submitRead<Result>(
        _ body: (borrowing Value) -> Result,
        completion: (Result) -> Void
    ) throws(BacklogFull) { fatalError() }
}

extension Synchronized
where Value: ~Copyable, ChosenStrategy: InPlaceStrategy & LockingStrategy {
    /// Not available for a value that cannot be copied.
    @available(
        *,
        unavailable,
        message: "a value that is not copyable is tried by 'withLockIfAvailable'"
    )
    public func tryWrite<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? { fatalError() }

    /// Not available for a value that cannot be copied.
    @available(
        *,
        unavailable,
        message: "a value that is not copyable is tried by 'withLockIfAvailable'"
    )
    public func tryRead<Result: ~Copyable, Failure: Error>(
        _ body: (borrowing Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? { fatalError() }
}
