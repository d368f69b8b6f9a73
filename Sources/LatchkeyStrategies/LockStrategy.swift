public import LatchkeySync

/// `lock`: `NSLock` around every access.
///
/// The baseline, and the default.
///
/// Entering again on the same thread hangs, as `NSLock` does.
///
/// A wait with a deadline is by the time of day, as `lock(before:)`: longer if that is set back.
///
/// - *Guarantees:* nothing beyond the common ones.
/// - *Use it when* you have not measured.
/// - *Not when* waiting threads need fairness.
/// - *Trap:* a running thread can overtake waiting ones. Medians look perfect while one thread
///   waits for many milliseconds: compare `wait max` with that of a queue. In release builds,
///   locking again on the same thread hangs without a message; metered and checked builds stop.
///
/// ```sh
/// latchkey compare --strategies lock,serial-queue --threads 8 --section 1000 --outside 0
/// ```
public struct LockStrategy: NamedStrategy, LockingStrategy, TryingStrategy {
    /// The strategy's case.
    public static let kind = StrategyKind.lock

    /// The strategy in one sentence.
    public static let summary = "NSLock around every access."

    /// What the strategy promises.
    @inlinable public static var traits: StrategyTraits { StrategyTraits(comesWithPlatform: true) }

    /// The lock.
    public let rawLock: FoundationLock

    /// Makes a strategy for one value.
    @inlinable public init() { rawLock = FoundationLock() }
}

extension LockStrategy: TimedStrategy {}
