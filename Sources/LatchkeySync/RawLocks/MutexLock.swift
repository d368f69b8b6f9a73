public import Synchronization

/// `Synchronization.Mutex` as a lock: a class, since `Mutex` itself cannot be copied.
///
/// By the two halves of `withLock`, because a lock is held beyond a call.
public final class MutexLock: RawLock {
    @usableFromInline let mutex = Mutex<Void>(())

    /// Makes a lock that is free.
    @inlinable public init() {}

    /// Waits for the mutex.
    @inlinable public func lock() { mutex._unsafeLock() }

    /// Takes the mutex if it is free.
    @inlinable public func tryLock() -> Bool { mutex._unsafeTryLock() }

    /// Lets go of the mutex.
    @inlinable public func unlock() { mutex._unsafeUnlock() }

    /// False: where `Mutex` is a priority-inheriting futex, a failed try is a system call and makes
    /// the holder's unlock another one.
    @inlinable public static var isTriedBeforeWaiting: Bool { false }
}
