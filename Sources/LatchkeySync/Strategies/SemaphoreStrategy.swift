/// `semaphore`: `DispatchSemaphore(value: 1)`, waited for and signalled around every access.
///
/// Entering again on the same thread hangs.
public struct SemaphoreStrategy: NamedStrategy, ExclusiveLockStrategy {
    public static let kind = StrategyKind.semaphore
    public static let traits = StrategyTraits()

    public let rawLock: SemaphoreLock

    @inlinable public init() { rawLock = SemaphoreLock() }
}
