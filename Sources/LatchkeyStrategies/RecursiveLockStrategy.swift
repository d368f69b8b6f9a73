public import LatchkeySync

/// `recursive-lock`: `NSRecursiveLock` around every access.
///
/// The same thread may read inside a read. A write inside a read or a write, and a read inside a
/// write, stop the process in every build.
///
/// A wait with a deadline is by the time of day, as `lock(before:)`: longer if that is set back.
///
/// - *Guarantees:* re-entry for reading.
/// - *Use it when* calls come back to the same state and cannot be untangled.
/// - *Not when* such calls are an error: `lock` reports them.
/// - *Trap:* it does not make nested writes safe. Swift forbids overlapping access to one variable,
///   whatever the lock, so a nested write stops the program. Its reputation for being slow does not
///   hold on Linux: it costs little more than `lock`.
///
/// ```sh
/// latchkey compare --strategies recursive-lock,lock --threads 1,2
/// ```
public struct RecursiveLockStrategy: NamedStrategy, LockingStrategy, TryingStrategy {
    /// The strategy's case.
    public static let kind = StrategyKind.recursiveLock

    /// The strategy in one sentence.
    public static let summary = "NSRecursiveLock around every access."

    /// What the strategy promises.
    @inlinable public static var traits: StrategyTraits {
        StrategyTraits(isReentrant: true, comesWithPlatform: true)
    }

    /// The lock.
    public let rawLock: NestedReadLock<FoundationRecursiveLock>

    /// Makes a strategy for one value.
    @inlinable public init() { rawLock = NestedReadLock() }

    /// Makes a strategy that counts nested reads in the memory of the value.
    @inlinable public init(in memory: LockMemory) { rawLock = NestedReadLock(in: memory) }
}

extension RecursiveLockStrategy: TimedStrategy {}
