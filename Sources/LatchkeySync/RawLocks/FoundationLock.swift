public import Foundation

/// `NSLock`: on Linux a plain `pthread_mutex_t` behind an object.
public struct FoundationLock: RawLock {
    @usableFromInline let handle = NSLock()

    @inlinable public init() {}
    @inlinable public func lock() { handle.lock() }
    @inlinable public func tryLock() -> Bool { handle.try() }
    @inlinable public func unlock() { handle.unlock() }
}
