/// The strategies by name.
///
/// The raw value is the only spelling of a strategy: command-line flag, JSON, metric label and
/// documentation use it. A strategy has one case here and one line in `accept(_:)` of the module
/// LatchkeyStrategies; tables, tests and benchmarks follow from `allCases`.
public enum StrategyKind: String, CaseIterable, Sendable, Hashable {
    case serialQueue = "serial-queue"
    case serialQueueAsync = "serial-queue-async"
    case barrierQueue = "barrier-queue"
    case barrierQueueAsync = "barrier-queue-async"
    case lock = "lock"
    case recursiveLock = "recursive-lock"
    case pthreadMutex = "pthread-mutex"
    case pthreadAdaptive = "pthread-adaptive"
    case spin = "spin"
    case ticket = "ticket"
    case mcs = "mcs"
    case adaptive = "adaptive"
    case monitor = "monitor"
    case semaphore = "semaphore"
    case readWriteLock = "read-write-lock"
    case mutex = "mutex"
    case snapshot = "snapshot"
    case actor = "actor"

    /// The strategy of a program that has not chosen: the service's default, and the one that
    /// reports compare with.
    package static let standard = StrategyKind.lock
}
