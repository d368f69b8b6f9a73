extension WrappingStrategy where Self: TimedStrategy, Base: TimedStrategy {
    /// Forwards to the base.
    @inlinable
    public func read<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        before deadline: ContinuousClock.Instant,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        let observer = BothObservers(ownObserver, observer)
        return try base.read(guarded, before: deadline, observer: observer, body)
    }

    /// Forwards to the base.
    @inlinable
    public func write<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        before deadline: ContinuousClock.Instant,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        let observer = BothObservers(ownObserver, observer)
        return try base.write(guarded, before: deadline, observer: observer, body)
    }
}
