/// `recursive-lock`: `NSRecursiveLock` around every access.
///
/// The same thread may read inside a read. A write inside a read or a write, and a read inside a
/// write, stop the process in every build: see ``ReentrantLockStrategy``.
public struct RecursiveLockStrategy: NamedStrategy, ReentrantLockStrategy {
    public static let kind = StrategyKind.recursiveLock
    public static let traits = StrategyTraits(isReentrant: true)

    public let rawLock: FoundationRecursiveLock
    public let nesting: Nesting

    @inlinable
    public init() {
        rawLock = FoundationRecursiveLock()
        nesting = Nesting()
    }
}
