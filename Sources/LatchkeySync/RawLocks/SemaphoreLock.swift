public import Dispatch

/// `DispatchSemaphore(value: 1)` as a lock.
///
/// It knows no owner: any thread could signal it.
///
/// **Design.** The semaphore's count is the lock: 1 is free, 0 is held.
public struct SemaphoreLock: RawLock {
    @usableFromInline let handle = DispatchSemaphore(value: 1)

    /// Makes a lock that is free.
    @inlinable public init() {}

    /// Waits until the calling thread holds the lock.
    @inlinable public func lock() { handle.wait() }

    /// Time 0 is `DISPATCH_TIME_NOW`, which spares reading the clock.
    @inlinable
    public func tryLock() -> Bool {
        handle.wait(timeout: DispatchTime(uptimeNanoseconds: 0)) == .success
    }

    /// Lets go.
    @inlinable public func unlock() { handle.signal() }
}

extension SemaphoreLock: TimedLock {
    /// Dispatch's clock does not count the time that the machine sleeps, so this looks again.
    public func lock(before deadline: ContinuousClock.Instant) -> Bool {
        repeat {
            let time = DispatchTime.now() + .nanoseconds(Int(deadline.nanosecondsLeft))
            if handle.wait(timeout: time) == .success {
                return true
            }
        } while .now < deadline
        return false
    }
}
