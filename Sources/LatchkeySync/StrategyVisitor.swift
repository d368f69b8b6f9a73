/// Generic code that is to run with a strategy that is known by name only.
///
/// ``StrategyKind/accept(_:)`` is the one switch from names to types. It is inlinable, so what the
/// visitor does is compiled once for each strategy, and nothing is dispatched after the visit.
public protocol StrategyVisitor<Output, Failure> {
    associatedtype Output
    associatedtype Failure: Error = Never

    /// Called with the type of a strategy.
    func visit<Guard: NamedStrategy>(_ strategy: Guard.Type) throws(Failure) -> Output

    /// Called instead of `visit` for a strategy that can block, which is every one but `actor`.
    /// Only a visitor that uses the blocking doors has to implement it.
    func visitBlocking<Guard: NamedStrategy & BlockingStrategy>(
        _ strategy: Guard.Type
    ) throws(Failure) -> Output
}

extension StrategyVisitor {
    @inlinable
    public func visitBlocking<Guard: NamedStrategy & BlockingStrategy>(
        _ strategy: Guard.Type
    ) throws(Failure) -> Output {
        try visit(strategy)
    }
}

extension StrategyKind {
    /// Calls the visitor with the type of the strategy that has this name.
    @inlinable
    public func accept<Visitor: StrategyVisitor>(
        _ visitor: Visitor
    ) throws(Visitor.Failure) -> Visitor.Output {
        switch self {
        case .serialQueue: try visitor.visitBlocking(SerialQueueStrategy.self)
        case .serialQueueAsync: try visitor.visitBlocking(SerialQueueAsyncStrategy.self)
        case .barrierQueue: try visitor.visitBlocking(BarrierQueueStrategy.self)
        case .barrierQueueAsync: try visitor.visitBlocking(BarrierQueueAsyncStrategy.self)
        case .lock: try visitor.visitBlocking(LockStrategy.self)
        case .recursiveLock: try visitor.visitBlocking(RecursiveLockStrategy.self)
        case .spin: try visitor.visitBlocking(SpinStrategy.self)
        case .adaptive: try visitor.visitBlocking(AdaptiveStrategy.self)
        case .monitor: try visitor.visitBlocking(MonitorStrategy.self)
        case .semaphore: try visitor.visitBlocking(SemaphoreStrategy.self)
        case .readWriteLock: try visitor.visitBlocking(ReadWriteLockStrategy.self)
        case .mutex: try visitor.visitBlocking(MutexStrategy.self)
        case .snapshot: try visitor.visitBlocking(SnapshotStrategy.self)
        case .actor: try visitor.visit(ActorStrategy.self)
        }
    }
}
