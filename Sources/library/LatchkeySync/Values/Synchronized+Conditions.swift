// Access functions that wait until the value fulfils a condition, as a condition variable does.
// They exist where the primitive can wait so; elsewhere the compiler refuses the call with a
// message.

extension Synchronized
where Value: Sendable, ChosenStrategy: LockingStrategy, ChosenStrategy.Lock: ConditionLock {
    /// Waits until `condition` holds, and runs `body` with shared access at that moment.
    ///
    /// ```swift
    /// func number(of port: Guarded<Int?>) -> Int? {
    ///     port.read(when: { $0 != nil }) { $0 }
    /// }
    /// ```
    ///
    /// As ``write(when:fileID:line:_:)``. Readers whose conditions a write fulfils are woken
    /// together, but not readers that wait after a writer that it lets in. Where the lock has no
    /// shared mode, as that of `adaptive` and of `snapshot`, one of them is inside at a time.
    @available(
        *,
        noasync,
        message: "it holds the task's thread while it waits; 'asyncRead(when:)' does not"
    )
    @inlinable public func read<Result, Failure: Error>(
        when condition: @Sendable (Value) -> Bool,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let caller = CallSite(fileID, line)
        return Self.expect(try read(condition, before: nil, caller, body))
    }

    /// Waits until `condition` holds, but not beyond the deadline, and runs `body` with shared
    /// access at that moment.
    ///
    /// As ``read(when:fileID:line:_:)``. At the deadline the condition is asked a last
    /// time if the lock is free.
    ///
    /// - Returns: The result of `body`, or nil if it did not run.
    @available(
        *,
        noasync,
        message: "it holds the task's thread while it waits; 'asyncRead(when:)' does not"
    )
    @inlinable public func read<Result, Failure: Error>(
        when condition: @Sendable (Value) -> Bool,
        deadline: ContinuousClock.Instant,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try read(condition, before: deadline, CallSite(fileID, line), body)
    }

    /// Waits until `condition` holds, and runs `body` with exclusive access at that moment.
    ///
    /// ```swift
    /// func next(of jobs: Guarded<[String]>) -> String {
    ///     jobs.write(when: { !$0.isEmpty }) { $0.removeFirst() }
    /// }
    /// ```
    ///
    /// The thread that ends a write asks the conditions of the waiting threads, in the order in
    /// which they came, and wakes the first one whose condition holds. That one does the same when
    /// it leaves. A thread that comes later can enter first; the woken one then waits again, before
    /// the others. A change inside a `read`, or without entering the value, wakes no thread. Blocks
    /// the thread, without end if the condition never holds: a task calls
    /// ``asyncWrite(when:fileID:line:_:)``.
    ///
    /// The condition is asked inside the guarded section: at once, and again after writes. It runs
    /// on the calling thread, or on another one while the calling thread sleeps, so it must not use
    /// thread-local state. It is asked often and others wait meanwhile: compare, and do nothing
    /// else. It must not enter a guarded value: the thread that releases the lock would wait for
    /// it. Debug builds, and those with the package trait `LATCHKEY_CHECKED`, stop with a message.
    @available(
        *,
        noasync,
        message: "it holds the task's thread while it waits; 'asyncWrite(when:)' does not"
    )
    @inlinable public func write<Result, Failure: Error>(
        when condition: @Sendable (Value) -> Bool,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let caller = CallSite(fileID, line)
        return Self.expect(try write(condition, before: nil, caller, body))
    }

    /// Waits until `condition` holds, but not beyond the deadline, and runs `body` with exclusive
    /// access at that moment.
    ///
    /// As ``write(when:fileID:line:_:)``. At the deadline the condition is asked a last
    /// time if the lock is free.
    ///
    /// - Returns: The result of `body`, or nil if it did not run.
    @available(
        *,
        noasync,
        message: "it holds the task's thread while it waits; 'asyncWrite(when:)' does not"
    )
    @inlinable public func write<Result, Failure: Error>(
        when condition: @Sendable (Value) -> Bool,
        deadline: ContinuousClock.Instant,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try write(condition, before: deadline, CallSite(fileID, line), body)
    }

    @inlinable func read<Result, Failure: Error>(
        _ condition: @Sendable (Value) -> Bool,
        before deadline: ContinuousClock.Instant?,
        _ site: CallSite,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try enter(
            AccessRequest(.read, at: site, keepsWritersOut: true),
            "read(when:)",
            // Inside a read it would never end: no write could fulfil the condition.
            as: AccessRequest(.write, at: site),
            waiting: { lock, isBlocked in
                lock.take(
                    to: .read,
                    when: { asks(condition, "read(when:)", site) },
                    before: deadline,
                    isBlocked: isBlocked
                )
            },
            { () throws(Failure) -> Result in try reading(body) }
        )
    }

    @inlinable func write<Result, Failure: Error>(
        _ condition: @Sendable (Value) -> Bool,
        before deadline: ContinuousClock.Instant?,
        _ site: CallSite,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try enter(
            AccessRequest(.write, at: site),
            "write(when:)",
            waiting: { lock, isBlocked in
                lock.take(
                    to: .write,
                    when: { asks(condition, "write(when:)", site) },
                    before: deadline,
                    isBlocked: isBlocked
                )
            },
            { () throws(Failure) -> Result in try writing(body) }
        )
    }

    /// Whether the condition of an access holds; the caller holds the lock.
    @inlinable func asks(
        _ condition: @Sendable (Value) -> Bool,
        _ name: StaticString,
        _ site: CallSite
    ) -> Bool {
        Reentry.asking(guarded, name, site) {
            // SAFETY: the thread that asks holds the lock.
            unsafe guarded.read { $0.read(condition) }
        }
    }

    /// The result of a wait that has no deadline.
    @inlinable static func expect<Result>(_ result: Result?) -> Result {
        guard let result else {
            preconditionFailure("A wait without a deadline has no end but its condition.")
        }
        return result
    }
}
