// The access functions that exist for every strategy, because they may complete after they return.

extension Synchronized where Value: Sendable {
    /// Submits `body` for shared access and calls `completion` with its result.
    ///
    /// Under `actor` both run later, on other threads. Under every other strategy both run before
    /// this returns, on the calling thread, which blocks meanwhile as in
    /// ``read(fileID:line:_:)``.
    ///
    /// - Parameters:
    ///   - fileID: Named in reports of waits, and in the message of the re-entry check.
    ///   - line: The same.
    ///   - body: Given the value. Must not enter the value again, except to submit a write to an
    ///     asynchronous strategy.
    ///   - completion: Called exactly once, outside the guarded section: it may enter the value.
    ///     It must not block.
    /// - Throws: ``BacklogFull`` if as many reads wait as the strategy accepts, or tasks wait in
    ///   line, which happens under `actor` only. Nothing was submitted then, and neither closure is
    ///   called.
    @inlinable @inline(__always) public func submitRead<Result: Sendable>(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        let request = AccessRequest(.read, at: CallSite(fileID, line), isSubmitted: true)
        #if DEBUG || LATCHKEY_CHECKED
        if strategy.erasedTraits.blocksCaller {
            Reentry.checking(strategy, guarded, request, "submitRead") {}
        }
        let body = { @Sendable [strategy, guarded] (value: Value) in
            Reentry.checking(strategy, guarded, request, "submitRead") { body(value) }
        }
        #endif
        try strategy.submit(
            request,
            observer: NoObserver(),
            { [strategy, guarded] in unsafe strategy.reading(guarded) { $0.read(body) } },
            completion: completion
        )
    }

    /// Submits `body` for exclusive access and calls `completion` with its result.
    ///
    /// Where ``StrategyTraits/appliesWritesAsynchronously`` says so, this returns at once and both
    /// run later, on other threads; else both run before it returns, and the calling thread blocks
    /// meanwhile as in ``write(fileID:line:_:)``. The writes of one thread are applied in the order
    /// of submission.
    ///
    /// - Parameters:
    ///   - fileID: Named in reports of waits, and in the message of the re-entry check.
    ///   - line: The same.
    ///   - body: Given the value to change. Must not enter the value again, except to submit a
    ///     write to an asynchronous strategy.
    ///   - completion: Called exactly once, outside the guarded section: it may enter the value.
    ///     It must not block.
    /// - Throws: ``BacklogFull`` if as many writes wait as the strategy accepts, or tasks wait in
    ///   line. Nothing was submitted then, and neither closure is called.
    @inlinable @inline(__always) public func submitWrite<Result: Sendable>(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (inout Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        let request = AccessRequest(.write, at: CallSite(fileID, line), isSubmitted: true)
        #if DEBUG || LATCHKEY_CHECKED
        if !strategy.erasedTraits.appliesWritesAsynchronously {
            Reentry.checking(strategy, guarded, request, "submitWrite") {}
        }
        let body = { @Sendable [strategy, guarded] (value: inout Value) in
            Reentry.checking(strategy, guarded, request, "submitWrite") { body(&value) }
        }
        #endif
        try strategy.submit(
            request,
            observer: NoObserver(),
            { [strategy, guarded] in unsafe strategy.writing(guarded, body) },
            completion: completion
        )
    }
}
