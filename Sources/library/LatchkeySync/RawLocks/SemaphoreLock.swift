public import Dispatch

/// `DispatchSemaphore(value: 1)` as a lock.
///
/// It has no owner: any thread could signal it.
///
/// **Design.** The semaphore's count is the lock: 1 is free, 0 is held.
public struct SemaphoreLock: RawLock {
    /// The promise.
    @inlinable public static var rawLockPromise: Promise<Self> { unsafe .unchecked() }

    @usableFromInline let handle = DispatchSemaphore(value: 1)

    /// Makes a lock that is free.
    @inlinable public init() {}

    /// Waits until the calling thread holds the lock.
    @inlinable public func lock() { handle.wait() }

    /// Time 0 is `DISPATCH_TIME_NOW`, which avoids reading the clock.
    @inlinable public func tryLock() -> Bool {
        handle.wait(timeout: DispatchTime(uptimeNanoseconds: 0)) == .success
    }

    /// Releases the lock.
    @inlinable public func unlock() { handle.signal() }
}

extension SemaphoreLock: TimedLock {
    /// The promise.
    @inlinable public static var timedLockPromise: Promise<Self> { unsafe .unchecked() }

    /// Waits until the calling thread holds the lock, or until the deadline.
    public func lock(before deadline: ContinuousClock.Instant) -> Bool {
        deadline.bounding { nanoseconds in
            handle.wait(timeout: .now() + .nanoseconds(Int(nanoseconds))) == .success
        }
    }
}

extension SemaphoreLock: NamedLock {
    /// The strategy's case.
    public static let kind = StrategyKind.semaphore

    /// The strategy in one sentence.
    public static let summary = "DispatchSemaphore(value: 1) around every access."

    /// The promises of the strategy.
    @inlinable public static var traits: StrategyTraits {
        StrategyTraits(comesWithPlatform: true)
    }
}

/// `semaphore`: `DispatchSemaphore(value: 1)` around every access.
///
/// Re-entry hangs.
///
/// - *Use when* you compare with code that uses it. It is never the fastest.
/// - *Not when* priorities matter: it has no owner to inherit one.
/// - *Cost:* with more threads than processors, more than a lock.
public typealias SemaphoreStrategy = RawLockStrategy<SemaphoreLock>
