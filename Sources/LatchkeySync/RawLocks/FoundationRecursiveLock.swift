public import Foundation

/// `NSRecursiveLock`: on Linux a recursive `pthread_mutex_t` behind an object.
public struct FoundationRecursiveLock: RawLock {
    @usableFromInline let handle = NSRecursiveLock()

    @inlinable public init() {}
    @inlinable public func lock() { handle.lock() }
    @inlinable public func tryLock() -> Bool { handle.try() }
    @inlinable public func unlock() { handle.unlock() }
}
