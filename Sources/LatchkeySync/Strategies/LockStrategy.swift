/// `lock`: `NSLock` around every access.
///
/// The baseline, and the default.
///
/// Entering again on the same thread hangs, as `NSLock` does.
///
/// - *Guarantees:* nothing beyond the common ones. Whoever asks while it is free gets it.
/// - *Use it when* you have not measured.
/// - *Not when* a waiting thread has to be sure of its turn.
/// - *Trap:* it promises no turn. Medians look perfect while some thread waits for many
///   milliseconds, because the one that just let go takes it again: compare `wait max` with that of
///   a queue. Locking again on the same thread hangs without a word (release builds; metered and
///   checked ones stop).
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
    @inlinable public static var traits: StrategyTraits { StrategyTraits() }

    /// The lock.
    public let rawLock: FoundationLock

    /// Makes a strategy for one value.
    @inlinable public init() { rawLock = FoundationLock() }
}
