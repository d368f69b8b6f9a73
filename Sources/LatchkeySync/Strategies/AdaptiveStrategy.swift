/// `adaptive`: our own lock: waiters poll for a bounded time, then sleep.
///
/// See ``AdaptiveLock``.
///
/// Entering again on the same thread hangs.
public struct AdaptiveStrategy: NamedStrategy, ExclusiveLockStrategy {
    public static let kind = StrategyKind.adaptive
    public static let traits = StrategyTraits(spins: true)

    public let rawLock: AdaptiveLock

    @inlinable public init() { rawLock = AdaptiveLock() }
}
