public import Foundation
public import LatchkeySync

/// `NSRecursiveLock`: on Linux a recursive `pthread_mutex_t` behind an object.
public struct FoundationRecursiveLock: RawLock {
    @usableFromInline let handle = NSRecursiveLock()

    /// Makes a lock that is free.
    @inlinable public init() {}

    /// The strategy's name.
    public static var name: String { StrategyKind.recursiveLock.rawValue }

    /// Waits until the calling thread holds the lock.
    @inlinable public func lock() { handle.lock() }

    /// Takes the lock if that is possible at once.
    @inlinable public func tryLock() -> Bool { handle.try() }

    /// Lets go.
    @inlinable public func unlock() { handle.unlock() }
}

extension FoundationRecursiveLock: TimedLock {
    /// Waits until the calling thread holds the lock, or until the deadline.
    ///
    /// The primitive waits until a time of day. If that is set back meanwhile, this takes longer.
    public func lock(before deadline: ContinuousClock.Instant) -> Bool {
        repeat {
            if handle.lock(before: deadline.timeOfDay) {
                return true
            }
        } while .now < deadline
        return false
    }
}
