public import Foundation
public import LatchkeySync

/// `NSRecursiveLock`: on Linux a recursive `pthread_mutex_t` behind an object.
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

    /// Lets go.
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

    /// What the strategy promises, and re-entry, which ``NestedReadLock`` adds.
    @inlinable public static var traits: StrategyTraits {
        StrategyTraits(comesWithPlatform: true)
    }
}

/// `recursive-lock`: `NSRecursiveLock` around every access.
///
/// The same thread may read inside a read. A write inside a read or a write, and a read inside a
/// write, stop the process in every build. A wait with a deadline is by the time of day: longer if
/// that is set back.
///
/// - *Guarantees:* re-entry for reading.
/// - *Use it when* calls come back to the same state and cannot be untangled.
/// - *Not when* such calls are an error: `lock` reports them.
/// - *Trap:* it does not make nested writes safe: Swift forbids overlapping access to one variable,
///   whatever the lock. It is not slow on Linux: it costs little more than `lock`.
///
/// ```sh
/// latchkey compare --strategies recursive-lock,lock --threads 1,2
/// ```
public typealias RecursiveLockStrategy = RawLockStrategy<NestedReadLock<FoundationRecursiveLock>>
