// The access functions that exist for every strategy, because they may complete after they return.

extension Synchronized where Value: Sendable {
    /// Submits `body` for shared access and calls `completion` with its result.
    ///
    /// Under `actor` both run later, on other threads. Under every other strategy both run before
    /// this returns, on the calling thread, which blocks meanwhile as in
    /// ``read(observer:fileID:line:_:)``.
    ///
    /// - Parameters:
    ///   - observer: Hears of this access.
    ///   - fileID: Named in the message of the re-entry check.
    ///   - line: Named in the message of the re-entry check.
    ///   - body: Given the value. Must not enter the value again, except to submit a write to an
    ///     asynchronous strategy.
    ///   - completion: Called exactly once, outside the guarded section: it may enter the value.
    ///     It must not block.
    /// - Throws: ``BacklogFull`` if as many reads wait as the strategy accepts, or tasks wait in
    ///   line, which happens under `actor` only. Nothing was submitted then, and neither closure is
    ///   called.
    @inlinable
    @inline(__always)
    public func submitRead<Observer: EntryObserver, Result: Sendable>(
        observer: Observer = NoObserver(),
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        #if DEBUG || LATCHKEY_CHECKED
        let caller = CallSite(fileID, line)
        if ChosenStrategy.traits.blocksCaller {
            Reentry.checking(ChosenStrategy.self, guarded, .submitRead, caller) {}
        }
        let body = { @Sendable [guarded] (value: Value) in
            Reentry.checking(ChosenStrategy.self, guarded, .submitRead, caller) { body(value) }
        }
        #endif
        try strategy.submitRead(
            guarded,
            observer: observer.here(fileID, line),
            body,
            completion: completion
        )
    }

    /// Submits `body` for exclusive access and calls `completion` with its result.
    ///
    /// Where ``StrategyTraits/appliesWritesAsynchronously`` says so, this returns at once and both
    /// run later, on other threads; else both run before it returns, and the calling thread blocks
    /// meanwhile as in ``write(observer:fileID:line:_:)``. What one thread submits is applied in
    /// the order of submission.
    ///
    /// - Parameters:
    ///   - observer: Hears of this access.
    ///   - fileID: Named in the message of the re-entry check.
    ///   - line: Named in the message of the re-entry check.
    ///   - body: Given the value to change. Must not enter the value again, except to submit a
    ///     write to an asynchronous strategy.
    ///   - completion: Called exactly once, outside the guarded section: it may enter the value.
    ///     It must not block.
    /// - Throws: ``BacklogFull`` if as many writes wait as the strategy accepts, or tasks wait in
    ///   line. Nothing was submitted then, and neither closure is called.
    @inlinable
    @inline(__always)
    public func submitWrite<Observer: EntryObserver, Result: Sendable>(
        observer: Observer = NoObserver(),
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (inout Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        #if DEBUG || LATCHKEY_CHECKED
        let caller = CallSite(fileID, line)
        if !ChosenStrategy.traits.appliesWritesAsynchronously {
            Reentry.checking(ChosenStrategy.self, guarded, .submitWrite, caller) {}
        }
        let body = { @Sendable [guarded] (value: inout Value) in
            Reentry.checking(ChosenStrategy.self, guarded, .submitWrite, caller) { body(&value) }
        }
        #endif
        try strategy.submitWrite(
            guarded,
            observer: observer.here(fileID, line),
            body,
            completion: completion
        )
    }
}
