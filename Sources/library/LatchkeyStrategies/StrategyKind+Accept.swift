// With this module a program has all strategies: those of LatchkeySync, and the two that need
// Foundation.
@_exported public import LatchkeySync

extension StrategyKind {
    /// Calls the visitor with the type of the strategy that has this name.
    ///
    /// Stops the process for `actor` on Apple's systems before version 26.
    @inlinable public func accept<Visitor: StrategyVisitor>(
        _ visitor: Visitor
    ) throws(Visitor.Failure) -> Visitor.Output {
        switch self {
        case .serialQueue: try visitor.visitBlocking(SerialQueueStrategy.self)
        case .serialQueueAsync: try visitor.visitBlocking(SerialQueueAsyncStrategy.self)
        case .barrierQueue: try visitor.visitBlocking(BarrierQueueStrategy.self)
        case .barrierQueueAsync: try visitor.visitBlocking(BarrierQueueAsyncStrategy.self)
        case .lock: try visitor.visitLock(LockStrategy.self)
        case .recursiveLock: try visitor.visitLock(RecursiveLockStrategy.self)
        case .pthreadMutex: try visitor.visitLock(PthreadMutexStrategy.self)
        case .pthreadAdaptive: try visitor.visitLock(PthreadAdaptiveStrategy.self)
        case .spin: try visitor.visitLock(SpinStrategy.self)
        case .ticket: try visitor.visitLock(TicketStrategy.self)
        case .mcs: try visitor.visitLock(MCSStrategy.self)
        case .adaptive: try visitor.visitLock(AdaptiveStrategy.self)
        case .monitor: try visitor.visitLock(MonitorStrategy.self)
        case .semaphore: try visitor.visitLock(SemaphoreStrategy.self)
        case .readWriteLock: try visitor.visitLock(ReadWriteLockStrategy.self)
        case .mutex: try visitor.visitLock(MutexStrategy.self)
        case .snapshot: try visitor.visitBlocking(SnapshotStrategy.self)
        case .actor:
            if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
                try visitor.visit(ActorStrategy.self)
            } else {
                preconditionFailure("'actor' needs immediate tasks, which came with macOS 26.")
            }
        }
    }

    /// One sentence about the strategy.
    public var summary: String { accept(SummaryVisitor()) }

    /// The promises of the strategy.
    public var traits: StrategyTraits { accept(TraitsVisitor()) }
}

private struct SummaryVisitor: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> String {
        ChosenStrategy.summary
    }
}

private struct TraitsVisitor: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> StrategyTraits
    {
        ChosenStrategy.traits
    }
}
