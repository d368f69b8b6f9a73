// Access functions that wait until the value fulfils a condition, as a condition variable does.
// They exist where the primitive can: the compiler says so elsewhere.

extension Synchronized where Value: Sendable, ChosenStrategy: ConditionStrategy {
    /// Waits until `condition` holds, and runs `body` with shared access at that moment.
    ///
    /// ```swift
    /// let port = service.read(when: { $0.isReady }) { $0.port }
    /// ```
    ///
    /// As ``write(when:observer:fileID:line:_:)``. Readers whose conditions a write fulfils are
    /// woken together, but not those behind a writer that it lets in. Under `adaptive` one reader
    /// is inside at a time.
    ///
    /// - Parameters:
    ///   - condition: Asked inside the guarded section. Must not enter a guarded value.
    ///   - observer: Hears of this access, which begins when the condition holds.
    ///   - fileID: Named in the message of the re-entry check.
    ///   - line: Named in the message of the re-entry check.
    ///   - body: Given the value, for which the condition holds.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    @inlinable
    public func read<Observer: EntryObserver, Result, Failure: Error>(
        when condition: (Value) -> Bool,
        observer: Observer = NoObserver(),
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let caller = CallSite(fileID, line)
        return Self.expect(try read(condition, before: nil, observer, caller, body))
    }

    /// Waits until `condition` holds, but not beyond the deadline, and runs `body` with shared
    /// access at that moment.
    ///
    /// As ``read(when:observer:fileID:line:_:)``. At the deadline the condition is asked a last
    /// time if the lock is free.
    ///
    /// - Returns: What `body` returns, or nil if it did not run.
    @inlinable
    public func read<Observer: EntryObserver, Result, Failure: Error>(
        when condition: (Value) -> Bool,
        deadline: ContinuousClock.Instant,
        observer: Observer = NoObserver(),
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try read(condition, before: deadline, observer, CallSite(fileID, line), body)
    }

    /// Waits until `condition` holds, and runs `body` with exclusive access at that moment.
    ///
    /// ```swift
    /// let job = jobs.write(when: { !$0.isEmpty }) { $0.removeFirst() }
    /// ```
    ///
    /// The thread that ends a write asks the conditions of the waiting threads, in the order in
    /// which they came, and wakes the first one whose condition holds. That one does the same when
    /// it leaves. A thread that comes later can enter first; the woken one then waits again, before
    /// the others. What changes inside a `read`, or without entering the value, wakes no thread.
    /// Blocks the thread, without end if the condition never holds: tasks should not wait here.
    ///
    /// - Parameters:
    ///   - condition: Asked inside the guarded section: at once, and again after writes. Runs on
    ///     the calling thread, or on another one while the calling thread sleeps, so it must not
    ///     use what belongs to a thread. It is asked often and others wait meanwhile: compare, and
    ///     do nothing else. Must not enter a guarded value.
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
        return Self.expect(try write(condition, before: nil, observer, caller, body))
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
    func read<Observer: EntryObserver, Result, Failure: Error>(
        _ condition: (Value) -> Bool,
        before deadline: ContinuousClock.Instant?,
        _ observer: Observer,
        _ caller: CallSite,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try Reentry.checking(ChosenStrategy.self, guarded, .readWhen, caller) {
            () throws(Failure) -> Result? in
            try strategy.read(
                guarded,
                when: condition,
                before: deadline,
                observer: observer.at(caller),
                body
            )
        }
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

    /// The result of a wait that has no deadline.
    @inlinable
    static func expect<Result>(_ result: Result?) -> Result {
        guard let result else {
            preconditionFailure("A wait without a deadline has no end but its condition.")
        }
        return result
    }
}
