// Waiting for a condition in a task, which is suspended meanwhile. They exist where the primitive
// can wait so, as `write(when:)` does; elsewhere the compiler refuses the call with a message.

extension Synchronized
where Value: Sendable, ChosenStrategy: LockingStrategy, ChosenStrategy.Lock: ConditionLock {
    /// Waits until `condition` holds, and runs `body` with shared access at that moment.
    ///
    /// As ``asyncWrite(when:fileID:line:_:)``; it is woken as ``read(when:fileID:line:_:)`` is.
    @inlinable nonisolated(nonsending) public func asyncRead<Result: Sendable>(
        when condition: @escaping @Sendable (Value) -> Bool,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @Sendable (Value) -> Result
    ) async throws(AccessRefused) -> Result {
        let name: StaticString = "asyncRead(when:)"
        let request = AccessRequest(
            .read,
            at: CallSite(fileID, line),
            isSubmitted: true,
            keepsWritersOut: true
        )
        return try await enter(request, name, when: condition) {
            unsafe strategy.reading(guarded) { lent in
                Reentry.checking(strategy, guarded, request, name) { lent.read(body) }
            }
        }
    }

    /// Waits until `condition` holds, and runs `body` with exclusive access at that moment.
    ///
    /// ```swift
    /// let jobs = Guarded<[String]>([])
    /// let job = try await jobs.asyncWrite(when: { !$0.isEmpty }) { $0.removeFirst() }
    /// ```
    ///
    /// The task is suspended until its condition holds, and no thread waits for it. The rules for
    /// conditions and the order of wake-ups are as in ``write(when:fileID:line:_:)``: the threads
    /// are one line, and the tasks of one executor are one. A write wakes the first writer of each
    /// line whose condition holds. So a task whose executor is busy delays only tasks that need the
    /// same executor, and these only until the next write. Actors without an executor of their own
    /// share that of the pool. The body runs on the task's thread, without leaving the caller's
    /// actor; that thread blocks while another one is inside, as in
    /// ``asyncWrite(whenFull:fileID:line:_:)``.
    ///
    /// **Cancellation.** A task that is cancelled before its body begins does not enter: its wait
    /// ends at once, and passes its turn on. To wait with a deadline, cancel the task.
    ///
    /// - Parameters:
    ///   - condition: Asked while the lock is held, on any thread.
    ///   - fileID: Named in reports of waits, and in the message of the re-entry check.
    ///   - line: The same.
    ///   - body: Given the value to change. Must not enter the value again.
    /// - Returns: The result of `body`.
    /// - Throws: ``AccessRefused/cancelled``.
    @inlinable nonisolated(nonsending) public func asyncWrite<Result: Sendable>(
        when condition: @escaping @Sendable (Value) -> Bool,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @Sendable (inout Value) -> Result
    ) async throws(AccessRefused) -> Result {
        let name: StaticString = "asyncWrite(when:)"
        let request = AccessRequest(.write, at: CallSite(fileID, line), isSubmitted: true)
        return try await enter(request, name, when: condition) {
            unsafe strategy.writing(guarded) { value in
                Reentry.checking(strategy, guarded, request, name) { body(&value) }
            }
        }
    }

    /// Runs `body` inside when the condition holds, unless the task is cancelled before.
    @inlinable nonisolated(nonsending) func enter<Result: Sendable>(
        _ request: AccessRequest,
        _ name: StaticString,
        when condition: @escaping @Sendable (Value) -> Bool,
        _ body: () -> Result
    ) async throws(AccessRefused) -> Result {
        // As a write: inside a read it would never end.
        checkBeforeBlocking(AccessRequest(.write, at: request.site, isSubmitted: true), name)
        guard !Task.isCancelled else { throw .cancelled }
        let result = await unsafe strategy.access(
            request,
            observer: NoObserver(),
            suspending: { lock, isBlocked in
                await lock.take(
                    to: request.mode,
                    when: { asks(condition, name, request.site) },
                    isBlocked: isBlocked
                )
            },
            { Task.isCancelled ? nil : body() }
        )
        guard let result, let result else { throw .cancelled }
        return result
    }
}
