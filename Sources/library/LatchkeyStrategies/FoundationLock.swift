public import Foundation
public import LatchkeySync

/// `NSLock`: on Linux an object with a plain `pthread_mutex_t`.
public struct FoundationLock: RawLock {
    /// The promise.
    @inlinable public static var rawLockPromise: Promise<Self> { unsafe .unchecked() }

    @usableFromInline let handle = NSLock()

    /// Makes a lock that is free.
    @inlinable public init() {}

    /// Waits until the calling thread holds the lock.
    @inlinable public func lock() { handle.lock() }

    /// Takes the lock if that is possible at once.
    @inlinable public func tryLock() -> Bool { handle.try() }

    /// Releases the lock.
    @inlinable public func unlock() { handle.unlock() }
}

extension FoundationLock: TimedLock {
    /// The promise.
    @inlinable public static var timedLockPromise: Promise<Self> { unsafe .unchecked() }

    /// Waits until the calling thread holds the lock, or until the deadline.
    ///
    /// The primitive waits until a time of day. If that is set back meanwhile, this takes longer.
    public func lock(before deadline: ContinuousClock.Instant) -> Bool {
        deadline.bounding { handle.lock(before: .after(nanoseconds: $0)) }
    }
}

extension Date {
    static func after(nanoseconds: Int64) -> Date {
        Date(timeIntervalSinceNow: Double(nanoseconds) / 1_000_000_000)
    }
}

extension FoundationLock: NamedLock {
    /// The strategy's case.
    public static let kind = StrategyKind.lock

    /// The strategy in one sentence.
    public static let summary = "NSLock around every access."

    /// The promises of the strategy.
    @inlinable public static var traits: StrategyTraits {
        StrategyTraits(comesWithPlatform: true)
    }
}

/// `lock`: `NSLock` around every access; the default of the service.
///
/// Re-entry hangs. A wait with a deadline is by the time of day (longer if that is set back).
///
/// - *Use when* you begin with the service. In a Swift program, begin with `adaptive` (`Guarded`).
/// - *Not when* waiting threads need fairness: running ones overtake them, which medians hide.
///   Compare `wait max`.
///
/// ```sh
/// latchkey compare --strategies lock,serial-queue --threads 8 --section 1000 --outside 0
/// ```
public typealias LockStrategy = RawLockStrategy<FoundationLock>
