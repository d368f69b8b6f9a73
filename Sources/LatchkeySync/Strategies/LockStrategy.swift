/// `lock`: `NSLock` around every access.
///
/// The baseline, and the default.
///
/// Entering again on the same thread hangs, as `NSLock` does.
public struct LockStrategy: NamedStrategy, ExclusiveLockStrategy {
    public static let kind = StrategyKind.lock
    public static let traits = StrategyTraits()

    public let rawLock: FoundationLock

    @inlinable public init() { rawLock = FoundationLock() }
}
