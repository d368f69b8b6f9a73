// The access functions for tasks. They exist for every strategy.

extension Synchronized where Value: Sendable {
    /// Runs `body` with shared access to the value and returns its result to the calling task.
    ///
    /// **Threads.** Under `actor`, `serial-queue-async` and `barrier-queue-async` the task is
    /// suspended until it has been inside, and no thread blocks. Under every other strategy the
    /// body runs on the task's thread, without leaving the caller's actor, and that thread blocks
    /// while a writer is inside (never under `snapshot`). The threads of the cooperative pool are
    /// few: keep the sections short there, or choose one of the three.
    ///
    /// **Cancellation.** A task that is cancelled before the body begins does not enter: this
    /// throws ``AccessRefused/cancelled``, and the body does not run. Under the two queues, and
    /// wherever a task waits for room, that happens at once, and its room in the backlog is free at
    /// once, unless 16 times as many cancelled accesses as the backlog holds are on the queue
    /// still; under `actor` when its turn comes. A body that has begun runs to its end. A thread
    /// that blocks is not woken.
    ///
    /// **Order.** The accesses of one task enter in its order, because it awaits each. Tasks that
    /// wait for room get it in the order in which they came. The order in which the accesses of
    /// several tasks enter, and the order in which the tasks go on after them, are not promised.
    ///
    /// - Parameters:
    ///   - whenFull: The choice if as many reads wait as the strategy accepts. A strategy without a
    ///     backlog ignores it.
    ///   - fileID: Named in reports of waits, and in the message of the re-entry check.
    ///   - line: The same.
    ///   - body: Given the value. Must not enter the value again. It does not throw: return a
    ///     `Result` from a body that can fail.
    /// - Returns: The result of `body`.
    /// - Throws: ``AccessRefused`` if the access did not take place.
    @inlinable nonisolated(nonsending) public func asyncRead<Result: Sendable>(
        whenFull: WhenFull = .wait,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @Sendable (Value) -> Result
    ) async throws(AccessRefused) -> Result {
        let request = AccessRequest(.read, at: CallSite(fileID, line), isSubmitted: true)
        checkBeforeBlocking(request, "asyncRead")
        return try await strategy.awaiting(request, observer: NoObserver(), whenFull: whenFull) {
            unsafe strategy.reading(guarded) { lent in
                Reentry.checking(strategy, guarded, request, "asyncRead") { lent.read(body) }
            }
        }
    }

    /// Runs `body` with exclusive access to the value and returns its result to the calling task.
    ///
    /// Returns after the write has been applied: readers see it. Everything else is as in
    /// ``asyncRead(whenFull:fileID:line:_:)``.
    @inlinable nonisolated(nonsending) public func asyncWrite<Result: Sendable>(
        whenFull: WhenFull = .wait,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @Sendable (inout Value) -> Result
    ) async throws(AccessRefused) -> Result {
        let request = AccessRequest(.write, at: CallSite(fileID, line), isSubmitted: true)
        checkBeforeBlocking(request, "asyncWrite")
        return try await strategy.awaiting(request, observer: NoObserver(), whenFull: whenFull) {
            unsafe strategy.writing(guarded) { value in
                Reentry.checking(strategy, guarded, request, "asyncWrite") {
                    body(&value)
                }
            }
        }
    }

    /// Stops a thread that is inside and would wait for itself.
    @inlinable @inline(__always)
    func checkBeforeBlocking(_ request: AccessRequest, _ name: StaticString) {
        #if DEBUG || LATCHKEY_CHECKED
        if !strategy.erasedTraits.appliesWritesAsynchronously {
            Reentry.checking(strategy, guarded, request, name) {}
        }
        #endif
    }
}
