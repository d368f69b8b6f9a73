/// `spin`: an atomic word that waiters poll.
///
/// See ``SpinLock``.
///
/// Entering again on the same thread spins for ever.
public struct SpinStrategy: NamedStrategy, ExclusiveLockStrategy {
    public static let kind = StrategyKind.spin
    public static let traits = StrategyTraits(spins: true)

    public let rawLock: SpinLock

    @inlinable public init() { rawLock = SpinLock() }
}
