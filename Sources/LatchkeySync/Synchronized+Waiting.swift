// Access functions that give up at a deadline, and those that wait for a condition. They exist
// where the primitive can: the compiler says so elsewhere.
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

extension Synchronized where Value: Sendable, ChosenStrategy: ConditionStrategy {
    /// Waits until `condition` holds, and runs `body` with exclusive access at that moment.
    ///
    /// ```swift
    /// let job = jobs.write(when: { !$0.isEmpty }) { $0.removeFirst() }
    /// ```
    ///
    /// What a condition variable is for. Every write of another thread that ends makes the waiting
    /// threads look again, all of them, in no promised order. What changes inside a `read`, or
    /// without entering the value, does not. Blocks the thread, for ever if the condition never
    /// holds: tasks should not wait here.
    ///
    /// - Parameters:
    ///   - condition: Asked inside the guarded section: at once, and again after writes. Must not
    ///     enter the value again.
    ///   - observer: Hears of this access, which begins when the condition holds.
    ///   - fileID: Named in the message of the re-entry check.
    ///   - line: Named in the message of the re-entry check.
    ///   - body: Given the value to change, for which the condition holds.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    @inlinable
    public func write<Observer: EntryObserver, Result, Failure: Error>(
        when condition: (Value) -> Bool,
        observer: Observer = NoObserver(),
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let caller = CallSite(fileID, line)
        guard
            let result = try write(condition, before: nil, observer, caller, body)
        else {
            preconditionFailure("A wait without a deadline has no end but its condition.")
        }
        return result
    }

    /// Waits until `condition` holds, but not beyond the deadline, and runs `body` with exclusive
    /// access at that moment.
    ///
    /// As ``write(when:observer:fileID:line:_:)``. At the deadline the condition is asked a last
    /// time if the lock is free.
    ///
    /// - Returns: What `body` returns, or nil if it did not run.
    @inlinable
    public func write<Observer: EntryObserver, Result, Failure: Error>(
        when condition: (Value) -> Bool,
        deadline: ContinuousClock.Instant,
        observer: Observer = NoObserver(),
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try write(condition, before: deadline, observer, CallSite(fileID, line), body)
    }

    @inlinable
    func write<Observer: EntryObserver, Result, Failure: Error>(
        _ condition: (Value) -> Bool,
        before deadline: ContinuousClock.Instant?,
        _ observer: Observer,
        _ caller: CallSite,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try Reentry.checking(ChosenStrategy.self, guarded, .writeWhen, caller) {
            () throws(Failure) -> Result? in
            try strategy.write(
                guarded,
                when: condition,
                before: deadline,
                observer: observer.at(caller),
                body
            )
        }
    }
}
