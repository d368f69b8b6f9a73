/// `semaphore`: `DispatchSemaphore(value: 1)`, waited for and signalled around every access.
///
/// Entering again on the same thread hangs.
///
/// - *Guarantees:* nothing beyond the common ones.
/// - *Use it when* you have to compare with code that uses it. It is never the fastest.
/// - *Not when* priorities matter: it has no owner that could inherit one.
/// - *Trap:* without contention it is as fast as a lock. With more threads than processors it is
///   slower, and costs more processor time for each operation. It has no owner, so any thread can
///   signal it, and a thread that waits for itself is not noticed. Its contended ratio is too high
///   under many threads: a try lowers the count for a moment, and another try then fails as well.
///
/// ```sh
/// latchkey compare --strategies semaphore,lock --threads 1,8
/// ```
public struct SemaphoreStrategy: NamedStrategy, LockingStrategy, TryingStrategy {
    /// The strategy's case.
    public static let kind = StrategyKind.semaphore

    /// The strategy in one sentence.
    public static let summary = "DispatchSemaphore(value: 1) around every access."

    /// What the strategy promises.
    @inlinable public static var traits: StrategyTraits { StrategyTraits(comesWithPlatform: true) }

    /// The lock.
    public let rawLock: SemaphoreLock

    /// Makes a strategy for one value.
    @inlinable public init() { rawLock = SemaphoreLock() }
}

extension SemaphoreStrategy: TimedStrategy {}
