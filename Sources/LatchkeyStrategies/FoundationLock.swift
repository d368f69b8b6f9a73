public import Foundation
public import LatchkeySync

/// `NSLock`: on Linux a plain `pthread_mutex_t` behind an object.
public struct FoundationLock: RawLock {
    @usableFromInline let handle = NSLock()

    /// Makes a lock that is free.
    @inlinable public init() {}

    /// Waits until the calling thread holds the lock.
    @inlinable public func lock() { handle.lock() }

    /// Takes the lock if that is possible at once.
    @inlinable public func tryLock() -> Bool { handle.try() }

    /// Lets go.
    @inlinable public func unlock() { handle.unlock() }
}

extension FoundationLock: TimedLock {
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

extension ContinuousClock.Instant {
    /// The time of day that it will be then.
    var timeOfDay: Date {
        Date(timeIntervalSinceNow: Double(nanosecondsLeft) / 1_000_000_000)
    }
}
