#if os(Linux)
extension SnapshotStrategy: TimedStrategy {
    /// Reads, without waiting.
    @inlinable
    public func read<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        before deadline: ContinuousClock.Instant,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try read(guarded, observer: observer, body)
    }

    /// Writes, unless the deadline passes first.
    @inlinable
    public func write<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        before deadline: ContinuousClock.Instant,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard let entry = writers.enter(observer, .write, before: deadline) else {
            return nil
        }
        return try replace(guarded, observer, entry, body)
    }
}
#endif
