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

    /// That a thread which is told so holds the lock.
    static var timedLockPromise: Promise<Self> { get }
}

extension TimedLock {
    /// The exclusive way in.
    @inlinable public func lockShared(before deadline: ContinuousClock.Instant) -> Bool {
        lock(before: deadline)
    }

    /// Takes the lock, unless that takes longer than the deadline.
    ///
    /// - Parameters:
    ///   - mode: Whether to share it.
    ///   - deadline: When to give up.
    ///   - isBlocked: Called once if the lock is not free.
    /// - Returns: How the calling thread holds the lock; nil if it gave up.
    @inlinable @inline(__always) func take(
        to mode: AccessMode,
        before deadline: ContinuousClock.Instant,
        isBlocked: () -> Void
    ) -> AccessMode? {
        _ = Self.timedLockPromise
        if tryLock(mode) { return mode }
        isBlocked()
        let isHeld =
            switch mode {
            case .read: lockShared(before: deadline)
            case .write: lock(before: deadline)
            }
        return isHeld ? mode : nil
    }
}

/// A timed lock whose holder can wait for a condition that another thread fulfils.
public protocol ConditionLock: TimedLock {
    /// Releases the lock, and waits until the calling thread holds it again and the condition
    /// holds, or until the deadline.
    ///
    /// The calling thread must hold the lock exclusively, must not have changed what it guards, and
    /// has found that the condition does not hold. It ends the access that follows with `unlock()`,
    /// also if it only reads: a later thread in the line may wait for that.
    ///
    /// - Parameters:
    ///   - mode: Reading or writing. Threads that read are let in together where a writer would be
    ///     let in alone.
    ///   - condition: Asked after exclusive accesses, while the lock is held: by the calling thread
    ///     or by the one that releases it. Not asked any more when the function returns.
    ///   - deadline: When to give up; nil for never. A condition that holds then still counts if
    ///     the lock is free.
    /// - Returns: Whether the calling thread holds the lock, and the condition holds.
    func wait(
        to mode: AccessMode,
        until condition: @Sendable () -> Bool,
        before deadline: ContinuousClock.Instant?
    ) -> Bool

    /// The same for a task, which is suspended meanwhile and holds no thread.
    ///
    /// - Returns: Whether the lock is held, and the condition holds; false if the task was
    ///   cancelled while it waited.
    nonisolated(nonsending) func wait(
        to mode: AccessMode,
        until condition: @escaping @Sendable () -> Bool
    ) async -> Bool

    /// That a thread which is told so holds the lock, and a condition is asked only while it is
    /// held.
    static var conditionLockPromise: Promise<Self> { get }
}

extension ConditionLock {
    /// Takes the lock at a moment when the condition holds, unless the deadline passes first.
    ///
    /// - Parameters:
    ///   - mode: Reading or writing.
    ///   - condition: Asked while the lock is held.
    ///   - deadline: When to give up; nil for never.
    ///   - isBlocked: Called once if the caller has to wait.
    /// - Returns: How the calling thread holds the lock; nil if it gave up.
    @inlinable func take(
        to mode: AccessMode,
        when condition: @Sendable () -> Bool,
        before deadline: ContinuousClock.Instant?,
        isBlocked: () -> Void
    ) -> AccessMode? {
        _ = Self.conditionLockPromise
        let isFree = tryLock()
        if !isFree {
            isBlocked()
            guard lock(atMostUntil: deadline) else { return nil }
        }
        if condition() { return .write }
        if isFree {
            isBlocked()
        }
        return wait(to: mode, until: condition, before: deadline) ? .write : nil
    }

    /// The same for a task, which gives up when it is cancelled while it waits for the condition.
    @inlinable nonisolated(nonsending) func take(
        to mode: AccessMode,
        when condition: @escaping @Sendable () -> Bool,
        isBlocked: () -> Void
    ) async -> AccessMode? {
        _ = Self.conditionLockPromise
        let isFree = tryLock()
        if !isFree {
            isBlocked()
            lock()
        }
        if condition() { return .write }
        if isFree {
            isBlocked()
        }
        return await wait(to: mode, until: condition) ? .write : nil
    }

    /// Waits until the calling thread holds the lock, or until the deadline if there is one.
    @inlinable func lock(atMostUntil deadline: ContinuousClock.Instant?) -> Bool {
        guard let deadline else {
            lock()
            return true
        }
        return lock(before: deadline)
    }
}
