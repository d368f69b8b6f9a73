// Access functions that give up at a deadline. They exist where the primitive can: the compiler
// says so elsewhere.
//
// A deadline is an instant of `ContinuousClock`, so that calls one after the other can share it:
// `.now + .seconds(1)`. It bounds the wait, not the body. A free lock is entered even if the
// deadline has passed. Cancelling a task does not end the wait.

extension Synchronized where Value: Sendable, ChosenStrategy: TimedStrategy {
    /// Runs `body` with shared access to the value, unless that takes longer than the deadline.
    ///
    /// Blocks as ``read(observer:fileID:line:_:)``, but not beyond the deadline.
    ///
    /// - Returns: What `body` returns, or nil if it did not run.
    @inlinable
    public func read<Observer: EntryObserver, Result, Failure: Error>(
        deadline: ContinuousClock.Instant,
        observer: Observer = NoObserver(),
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        let caller = CallSite(fileID, line)
        return try Reentry.checking(ChosenStrategy.self, guarded, .readDeadline, caller) {
            () throws(Failure) -> Result? in
            try strategy.read(
                guarded,
                before: deadline,
                observer: observer.at(caller),
                body
            )
        }
    }

    /// Runs `body` with exclusive access to the value, unless that takes longer than the deadline.
    ///
    /// Blocks as ``write(observer:fileID:line:_:)``, but not beyond the deadline.
    ///
    /// ```swift
    /// let isStored = cache.write(deadline: .now + .milliseconds(5)) { $0[key] = page } != nil
    /// ```
    ///
    /// - Returns: What `body` returns, or nil if it did not run.
    @inlinable
    public func write<Observer: EntryObserver, Result, Failure: Error>(
        deadline: ContinuousClock.Instant,
        observer: Observer = NoObserver(),
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        let caller = CallSite(fileID, line)
        return try Reentry.checking(ChosenStrategy.self, guarded, .writeDeadline, caller) {
            () throws(Failure) -> Result? in
            try strategy.write(
                guarded,
                before: deadline,
                observer: observer.at(caller),
                body
            )
        }
    }
}
