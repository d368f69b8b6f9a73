/// A timed lock whose holder can wait for a condition that another thread fulfils.
public protocol ConditionLock: TimedLock {
    /// Lets go of the lock, and waits until the calling thread holds it again and the condition
    /// holds, or until the deadline.
    ///
    /// The calling thread must hold the lock exclusively, must not have changed what it guards, and
    /// has found that the condition does not hold. It ends the access that follows with `unlock()`,
    /// also if it only reads: a thread behind it may wait for that.
    ///
    /// - Parameters:
    ///   - mode: What the access does. Threads that read are let in together where a writer would
    ///     be let in alone.
    ///   - condition: Asked after exclusive accesses, while the lock is held: by the calling thread
    ///     or by the one that lets go. Not asked any more when the function returns.
    ///   - deadline: When to give up; nil for never. A condition that holds then still counts if
    ///     the lock is free.
    /// - Returns: Whether the calling thread holds the lock, and the condition holds.
    func wait(
        to mode: AccessMode,
        until condition: () -> Bool,
        before deadline: ContinuousClock.Instant?
    ) -> Bool
}

extension ConditionLock {
    /// Waits until the calling thread holds the lock, or until the deadline if there is one.
    @inlinable
    func lock(atMostUntil deadline: ContinuousClock.Instant?) -> Bool {
        guard let deadline else {
            lock()
            return true
        }
        return lock(before: deadline)
    }
}

/// A strategy in which threads can wait until the value fulfils a condition.
public protocol ConditionStrategy: TimedStrategy {
    /// Runs `body` with shared access at a moment when `condition` holds, or returns nil if the
    /// deadline passes first.
    ///
    /// - Parameters:
    ///   - guarded: The value.
    ///   - condition: Asked inside the guarded section: at once, and again after writes, then
    ///     perhaps by the thread that wrote.
    ///   - deadline: When to give up; nil for never.
    ///   - observer: Hears of the access, which begins when the condition holds.
    ///   - body: Given the value.
    /// - Returns: What `body` returns, or nil if it did not run.
    /// - Throws: What `body` throws.
    func read<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        when condition: (Value) -> Bool,
        before deadline: ContinuousClock.Instant?,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result?

    /// Runs `body` with exclusive access at a moment when `condition` holds, or returns nil if the
    /// deadline passes first.
    ///
    /// - Parameters:
    ///   - guarded: The value.
    ///   - condition: Asked inside the guarded section: at once, and again after writes, then
    ///     perhaps by the thread that wrote.
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

extension LockingStrategy where Lock: ConditionLock {
    /// Runs `body` while the calling thread holds the lock and the condition holds.
    @inlinable
    public func read<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        when condition: (Value) -> Bool,
        before deadline: ContinuousClock.Instant?,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        let entry = enter(observer, .read, before: deadline) { guarded.read(condition) }
        guard let entry else {
            return nil
        }
        // The exclusive way out: see ConditionLock.
        defer { leave(observer, .write, entry) }
        return try guarded.read(body)
    }

    /// Runs `body` while the calling thread holds the lock and the condition holds.
    @inlinable
    public func write<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        when condition: (Value) -> Bool,
        before deadline: ContinuousClock.Instant?,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        let entry = enter(observer, .write, before: deadline) { guarded.read(condition) }
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
        _ mode: AccessMode,
        before deadline: ContinuousClock.Instant?,
        when condition: () -> Bool
    ) -> Observer.Entry? {
        var entry = observer.asks(mode)
        var isHeld = rawLock.tryLock()
        let isBlocked = !isHeld
        if isBlocked {
            observer.isBlocked(&entry)
            isHeld = rawLock.lock(atMostUntil: deadline)
        }
        if isHeld, !condition() {
            if !isBlocked {
                observer.isBlocked(&entry)
            }
            isHeld = rawLock.wait(to: mode, until: condition, before: deadline)
        }
        guard isHeld else {
            observer.givesUp(entry)
            return nil
        }
        observer.enters(&entry)
        return entry
    }
}

extension WrappingStrategy where Self: ConditionStrategy, Base: ConditionStrategy {
    /// Forwards to the base.
    @inlinable
    public func read<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        when condition: (Value) -> Bool,
        before deadline: ContinuousClock.Instant?,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        let observer = BothObservers(ownObserver, observer)
        return try base.read(guarded, when: condition, before: deadline, observer: observer, body)
    }

    /// Forwards to the base.
    @inlinable
    public func write<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        when condition: (Value) -> Bool,
        before deadline: ContinuousClock.Instant?,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        let observer = BothObservers(ownObserver, observer)
        return try base.write(guarded, when: condition, before: deadline, observer: observer, body)
    }
}
