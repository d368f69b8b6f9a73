/// The strategies by name.
///
/// The raw value is the one spelling of a strategy: command-line flag, JSON, metric label and
/// documentation all use it.
public enum StrategyKind: String, CaseIterable, Sendable, Hashable {
    case serialQueue = "serial-queue"
    case serialQueueAsync = "serial-queue-async"
    case barrierQueue = "barrier-queue"
    case barrierQueueAsync = "barrier-queue-async"
    case lock = "lock"
    case recursiveLock = "recursive-lock"
    case spin = "spin"
    case adaptive = "adaptive"
    case monitor = "monitor"
    case semaphore = "semaphore"
    case readWriteLock = "read-write-lock"
    case mutex = "mutex"
    case snapshot = "snapshot"
    case actor = "actor"
}

extension StrategyKind {
    /// One sentence about the strategy.
    public var summary: String {
        switch self {
        case .serialQueue:
            "A private serial dispatch queue with synchronous reads and writes."
        case .serialQueueAsync:
            "A private serial dispatch queue with synchronous reads and asynchronous writes."
        case .barrierQueue:
            "A private concurrent dispatch queue with synchronous reads and barrier writes."
        case .barrierQueueAsync:
            "A private concurrent dispatch queue with synchronous reads and asynchronous barriers."
        case .lock:
            "NSLock around every access."
        case .recursiveLock:
            "NSRecursiveLock around every access."
        case .spin:
            "An atomic word that waiters poll, yielding after a bound."
        case .adaptive:
            "A futex lock whose waiters poll for a bounded time and then sleep."
        case .monitor:
            "A recursive lock found by object identity, as @synchronized does."
        case .semaphore:
            "DispatchSemaphore(value: 1) around every access."
        case .readWriteLock:
            "pthread_rwlock with writer preference."
        case .mutex:
            "Mutex of Swift's Synchronization module."
        case .snapshot:
            "An immutable value swapped atomically; readers never wait, writers copy."
        case .actor:
            "A Swift actor; nothing blocks, every access is submitted."
        }
    }

    /// What the strategy promises.
    public var traits: StrategyTraits {
        accept(TraitsVisitor())
    }
}

private struct TraitsVisitor: StrategyVisitor {
    func visit<Guard: NamedStrategy>(_ strategy: Guard.Type) -> StrategyTraits {
        Guard.traits
    }
}
