/// `monitor`: a recursive lock found by the identity of the guard.
///
/// See ``Monitor``.
///
/// The same thread may read inside a read. A write inside a read or a write, and a read inside a
/// write, stop the process in every build: see ``ReentrantLockStrategy``.
public struct MonitorStrategy: NamedStrategy, ReentrantLockStrategy {
    public static let kind = StrategyKind.monitor
    public static let traits = StrategyTraits(isReentrant: true)

    public let rawLock: MonitorLock
    public let nesting: Nesting

    @inlinable
    public init() {
        rawLock = MonitorLock()
        nesting = Nesting()
    }
}
