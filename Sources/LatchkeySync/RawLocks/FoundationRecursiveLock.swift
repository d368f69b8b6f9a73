public import Foundation

/// `NSRecursiveLock`: on Linux a recursive `pthread_mutex_t` behind an object.
public struct FoundationRecursiveLock: RawLock {
    @usableFromInline let handle = NSRecursiveLock()

    /// Makes a lock that is free.
    @inlinable public init() {}

    /// Waits until the calling thread holds the lock.
    @inlinable public func lock() { handle.lock() }

    /// Takes the lock if that is possible at once.
    @inlinable public func tryLock() -> Bool { handle.try() }

    /// Lets go.
    @inlinable public func unlock() { handle.unlock() }
}
