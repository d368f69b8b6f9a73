// Access functions that do not wait, or not without end. They exist where the primitive can do
// that; elsewhere the compiler refuses the call with a message.
//
// A deadline is an instant of `ContinuousClock`, so that calls one after the other can share it:
// `.now + .seconds(1)`. It limits the wait, not the body. A free lock is entered even if the
// deadline has passed. Cancelling a task does not end the wait.

extension Synchronized where Value: Sendable, ChosenStrategy: LockingStrategy {
    /// Runs `body` with shared access to the value, unless the caller would have to wait.
    ///
    /// As ``tryWrite(fileID:line:_:)``. Never refused under `snapshot`.
    ///
    /// - Returns: The result of `body`, or nil if it did not run.
    @inlinable public func tryRead<Result, Failure: Error>(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try tryEnter(AccessRequest(.read, at: CallSite(fileID, line)), "tryRead") {
            () throws(Failure) -> Result in
            try reading(body)
        }
    }

    /// Runs `body` with exclusive access to the value, unless the caller would have to wait.
    ///
    /// Never blocks before `body` runs. A failed try is not an access: an observer does not hear of
    /// it. It also fails while another thread's failed try holds the lock for a moment, so do not
    /// wait for it in a loop.
    ///
    /// - Returns: The result of `body`, or nil if it did not run.
    @inlinable public func tryWrite<Result, Failure: Error>(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try tryEnter(AccessRequest(.write, at: CallSite(fileID, line)), "tryWrite") {
            () throws(Failure) -> Result in
            try writing(body)
        }
    }
}

extension Synchronized
where Value: Sendable, ChosenStrategy: LockingStrategy, ChosenStrategy.Lock: TimedLock {
    /// Runs `body` with shared access to the value, unless that takes longer than the deadline.
    ///
    /// Blocks as ``read(fileID:line:_:)``, but not beyond the deadline.
    ///
    /// - Returns: The result of `body`, or nil if it did not run.
    @inlinable public func read<Result, Failure: Error>(
        deadline: ContinuousClock.Instant,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try enter(
            AccessRequest(.read, at: CallSite(fileID, line)),
            "read(deadline:)",
            waiting: { $0.take(to: .read, before: deadline, isBlocked: $1) },
            { () throws(Failure) -> Result in try reading(body) }
        )
    }

    /// Runs `body` with exclusive access to the value, unless that takes longer than the deadline.
    ///
    /// Blocks as ``write(fileID:line:_:)``, but not beyond the deadline.
    ///
    /// ```swift
    /// let cache = Guarded<[Int: String]>([:])
    /// let isStored = cache.write(deadline: .now + .milliseconds(5)) { $0[7] = "seven" } != nil
    /// ```
    ///
    /// - Returns: The result of `body`, or nil if it did not run.
    @inlinable public func write<Result, Failure: Error>(
        deadline: ContinuousClock.Instant,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try enter(
            AccessRequest(.write, at: CallSite(fileID, line)),
            "write(deadline:)",
            waiting: { $0.take(to: .write, before: deadline, isBlocked: $1) },
            { () throws(Failure) -> Result in try writing(body) }
        )
    }
}
