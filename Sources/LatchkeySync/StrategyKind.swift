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
