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

/// A timed lock whose holder can wait for a change that another thread makes.
public protocol ConditionLock: TimedLock {
    /// Lets go of the lock, and waits until another thread has let go after an exclusive access.
    ///
    /// The calling thread must hold the lock exclusively, and must not have changed what it
    /// guards. It does not hold the lock afterwards. Can return early.
    ///
    /// - Parameter deadline: When to return in any case; nil for never.
    func unlockAndAwaitChange(before deadline: ContinuousClock.Instant?)

    /// Lets go of the lock after an exclusive access that changed nothing.
    func unlockUnchanged()
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

/// A strategy whose writers can wait until the value fulfils a condition.
public protocol ConditionStrategy: TimedStrategy {
    /// Runs `body` with exclusive access at a moment when `condition` holds, or returns nil if the
    /// deadline passes first.
    ///
    /// - Parameters:
    ///   - guarded: The value.
    ///   - condition: Asked inside the guarded section: at once, and again after writes.
    ///   - deadline: When to give up; nil for never.
    ///   - observer: Hears of the access, which begins when the condition holds.
    ///   - body: Given the value to change.
    /// - Returns: What `body` returns, or nil if it did not run.
    /// - Throws: What `body` throws.
    func write<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        when condition: (Value) -> Bool,
        before deadline: ContinuousClock.Instant?,
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

extension LockingStrategy where Lock: ConditionLock {
    /// Runs `body` while the calling thread holds the lock and the condition holds.
    @inlinable
    public func write<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        when condition: (Value) -> Bool,
        before deadline: ContinuousClock.Instant?,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        let entry = enter(observer, before: deadline) { guarded.read(condition) }
        guard let entry else {
            return nil
        }
        defer { leave(observer, .write, entry) }
        return try guarded.write(body)
    }

    /// Takes the lock when the condition holds, or tells the observer that there will be no access.
    @inlinable
    func enter<Observer: EntryObserver>(
        _ observer: Observer,
        before deadline: ContinuousClock.Instant?,
        when condition: () -> Bool
    ) -> Observer.Entry? {
        var entry = observer.asks(.write)
        var isHeld = rawLock.tryLock()
        var isBlocked = !isHeld
        if isBlocked {
            observer.isBlocked(&entry)
            isHeld = lock(before: deadline)
        }
        while isHeld, !condition() {
            if !isBlocked {
                isBlocked = true
                observer.isBlocked(&entry)
            }
            if let deadline, deadline <= .now {
                rawLock.unlockUnchanged()
                isHeld = false
            } else {
                rawLock.unlockAndAwaitChange(before: deadline)
                isHeld = lock(before: deadline)
            }
        }
        guard isHeld else {
            observer.givesUp(entry)
            return nil
        }
        observer.enters(&entry)
        return entry
    }

    @inlinable
    func lock(before deadline: ContinuousClock.Instant?) -> Bool {
        guard let deadline else {
            rawLock.lock()
            return true
        }
        return rawLock.lock(before: deadline)
    }
}
