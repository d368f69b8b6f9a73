public import Dispatch

/// `DispatchSemaphore(value: 1)` as a lock.
///
/// It knows no owner: any thread could signal it.
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

    /// Time 0 is `DISPATCH_TIME_NOW`, which spares reading the clock.
    @inlinable public func tryLock() -> Bool {
        handle.wait(timeout: DispatchTime(uptimeNanoseconds: 0)) == .success
    }

    /// Lets go.
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

    /// What the strategy promises.
    @inlinable public static var traits: StrategyTraits {
        StrategyTraits(comesWithPlatform: true)
    }
}

/// `semaphore`: `DispatchSemaphore(value: 1)`, waited for and signalled around every access.
///
/// Entering again on the same thread hangs.
///
/// - *Guarantees:* nothing beyond the common ones.
/// - *Use it when* you have to compare with code that uses it. It is never the fastest.
/// - *Not when* priorities matter: it has no owner that could inherit one.
/// - *Trap:* with more threads than processors it is slower than a lock, and costs more processor
///   time. It has no owner, so any thread can signal it, and a thread that waits for itself is not
///   noticed. Its contended ratio is too high under many threads: a try lowers the count for a
///   moment, and another try then fails as well.
///
/// ```sh
/// latchkey compare --strategies semaphore,lock --threads 1,8
/// ```
public typealias SemaphoreStrategy = RawLockStrategy<SemaphoreLock>
