/// A strategy that can refuse an access that would have to wait.
///
/// A protocol of its own, because not every primitive can be tried: a queue cannot.
public protocol TryingStrategy: BlockingStrategy {
    /// Runs `body` while no other writer is inside, or returns nil if the caller would have to
    /// wait.
    func tryAccess<Observer: EntryObserver, Result: ~Copyable, Failure: Error>(
        observer: Observer,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result?

    /// Runs `body` with exclusive access, or returns nil if the caller would have to wait.
    func tryWrite<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result?
}

extension InPlaceStrategy where Self: TryingStrategy {
    /// Runs `body` with exclusive access, or returns nil if the caller would have to wait.
    @_disfavoredOverload
    @inlinable
    @inline(__always)
    public func tryWrite<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try tryAccess(observer: observer) { () throws(Failure) -> Result in
            try guarded.write(body)
        }
    }
}
