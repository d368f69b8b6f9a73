/// A lock that can be waited for until a deadline.
public protocol TimedLock: RawLock {
    /// Waits until the calling thread holds the lock, or until the deadline.
    ///
    /// A free lock is taken even if the deadline has passed.
    ///
    /// - Returns: Whether the calling thread holds the lock.
    func lock(before deadline: ContinuousClock.Instant) -> Bool

    /// The same for sharing the lock with other readers.
    func lockShared(before deadline: ContinuousClock.Instant) -> Bool
}

extension TimedLock {
    /// The exclusive way in.
    @inlinable
    public func lockShared(before deadline: ContinuousClock.Instant) -> Bool {
        lock(before: deadline)
    }

    @inlinable
    @inline(__always)
    func lock(_ mode: AccessMode, before deadline: ContinuousClock.Instant) -> Bool {
        switch mode {
        case .read: lockShared(before: deadline)
        case .write: lock(before: deadline)
        }
    }
}

/// A strategy that can be waited for until a deadline.
///
/// A protocol of its own, because not every primitive can: a thread that stands in a queue, or has
/// drawn a ticket, cannot leave it.
public protocol TimedStrategy: TryingStrategy {
    /// Runs `body` with shared access, or returns nil if the deadline passes first.
    func read<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        before deadline: ContinuousClock.Instant,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result?

    /// Runs `body` with exclusive access, or returns nil if the deadline passes first.
    func write<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        before deadline: ContinuousClock.Instant,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result?
}

extension LockingStrategy where Lock: TimedLock {
    /// Runs `body` while the calling thread shares the lock.
    @inlinable
    public func read<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        before deadline: ContinuousClock.Instant,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard let entry = enter(observer, .read, before: deadline) else {
            return nil
        }
        defer { leave(observer, .read, entry) }
        return try guarded.read(body)
    }

    /// Runs `body` while the calling thread holds the lock.
    @inlinable
    public func write<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        before deadline: ContinuousClock.Instant,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard let entry = enter(observer, .write, before: deadline) else {
            return nil
        }
        defer { leave(observer, .write, entry) }
        return try guarded.write(body)
    }

    /// Takes the lock, or tells the observer that there will be no access.
    @inlinable
    @inline(__always)
    func enter<Observer: EntryObserver>(
        _ observer: Observer,
        _ mode: AccessMode,
        before deadline: ContinuousClock.Instant
    ) -> Observer.Entry? {
        var entry = observer.asks(mode)
        if !rawLock.tryLock(mode) {
            observer.isBlocked(&entry)
            if !rawLock.lock(mode, before: deadline) {
                observer.givesUp(entry)
                return nil
            }
        }
        observer.enters(&entry)
        return entry
    }
}
