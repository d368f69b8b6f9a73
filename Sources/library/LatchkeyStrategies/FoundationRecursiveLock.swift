public import Foundation
public import LatchkeySync

/// `NSRecursiveLock`: on Linux an object with a recursive `pthread_mutex_t`.
public struct FoundationRecursiveLock: TimedRecursiveLock {
    /// The promise.
    @inlinable public static var recursiveLockPromise: Promise<Self> { unsafe .unchecked() }

    /// The promise.
    @inlinable public static var timedRecursiveLockPromise: Promise<Self> { unsafe .unchecked() }

    @usableFromInline let handle = NSRecursiveLock()

    /// Makes a lock that is free.
    @inlinable public init() {}

    /// Waits until the calling thread holds the lock.
    @inlinable public func lock() { handle.lock() }

    /// Takes the lock if that is possible at once.
    @inlinable public func tryLock() -> Bool { handle.try() }

    /// Releases the lock.
    @inlinable public func unlock() { handle.unlock() }

    /// Waits until the calling thread holds the lock, or until the deadline.
    ///
    /// The primitive waits until a time of day. If that is set back meanwhile, this takes longer.
    public func lock(before deadline: ContinuousClock.Instant) -> Bool {
        deadline.bounding { handle.lock(before: .after(nanoseconds: $0)) }
    }

    /// The strategy's case.
    public static let kind = StrategyKind.recursiveLock

    /// The strategy in one sentence.
    public static let summary = "NSRecursiveLock around every access."

    /// The promises of the strategy, and re-entry, which ``NestedReadLock`` adds.
    @inlinable public static var traits: StrategyTraits {
        StrategyTraits(comesWithPlatform: true)
    }
}

/// `recursive-lock`: `NSRecursiveLock` around every access.
///
/// Only a read inside a read is allowed; any other re-entry stops the process in every build. A
/// wait with a deadline is by the time of day (longer if that is set back).
///
/// - *Use when* calls come back to the same state and cannot be untangled.
/// - *Cost:* little more than `lock`.
public typealias RecursiveLockStrategy = RawLockStrategy<NestedReadLock<FoundationRecursiveLock>>
