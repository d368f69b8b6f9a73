/// `pthread-mutex`: a bare `pthread_mutex_t` around every access, as in SwiftNIO's locked box.
///
/// The default kind, without attributes. `lock` is the same mutex behind an object of Foundation.
///
/// Entering again on the same thread hangs, with glibc and musl. POSIX does not define it.
///
/// - *Guarantees:* nothing beyond the common ones.
/// - *Use it when* you would use `lock`, and the program does without Foundation.
/// - *Not when* waiting threads need fairness.
/// - *Trap:* a running thread can overtake waiting ones, as under `lock`. A waiter sleeps at once,
///   so that with sections of nanoseconds the kernel is called for most of the waits. In release
///   builds, locking again on the same thread hangs without a message; metered and checked builds
///   stop.
///
/// ```sh
/// latchkey compare --strategies pthread-mutex,lock,adaptive --threads 1,2,8
/// ```
public struct PthreadMutexStrategy: NamedStrategy, LockingStrategy, TryingStrategy {
    /// The strategy's case.
    public static let kind = StrategyKind.pthreadMutex

    /// The strategy in one sentence.
    public static let summary = "A bare pthread_mutex_t around every access."

    /// What the strategy promises.
    @inlinable public static var traits: StrategyTraits { StrategyTraits(comesWithPlatform: true) }

    /// The lock.
    public let rawLock: PthreadMutexLock

    /// Makes a strategy for one value.
    @inlinable public init() { rawLock = PthreadMutexLock() }
}

#if canImport(Glibc)
extension PthreadMutexStrategy: TimedStrategy {}
#endif
