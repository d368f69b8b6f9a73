/// A `pthread_mutex_t` of glibc's kind `PTHREAD_MUTEX_ADAPTIVE_NP`, in one allocation.
///
/// Other C libraries have no such kind. There it is a ``PthreadMutexLock``.
public struct PthreadAdaptiveLock: RawLock {
    /// The promise.
    @inlinable public static var rawLockPromise: Promise<Self> { unsafe .unchecked() }

    @usableFromInline let base: PthreadMutexLock

    /// Makes a lock that is free.
    public init() { base = PthreadMutexLock(type: PthreadMutexLock.adaptive) }

    /// Waits until the calling thread holds the lock.
    @inlinable public func lock() { base.lock() }

    /// Takes the lock if that is possible at once.
    @inlinable public func tryLock() -> Bool { base.tryLock() }

    /// Releases the lock.
    @inlinable public func unlock() { base.unlock() }
}

#if canImport(Glibc)
extension PthreadAdaptiveLock: TimedLock {
    /// The promise.
    @inlinable public static var timedLockPromise: Promise<Self> { unsafe .unchecked() }

    /// Waits until the calling thread holds the lock, or until the deadline.
    public func lock(before deadline: ContinuousClock.Instant) -> Bool {
        base.lock(before: deadline)
    }
}
#endif

extension PthreadAdaptiveLock: NamedLock {
    /// The strategy's case.
    public static let kind = StrategyKind.pthreadAdaptive

    /// The strategy in one sentence.
    public static let summary = "A pthread_mutex_t that spins before it sleeps, with glibc."

    /// The promises of the strategy.
    @inlinable public static var traits: StrategyTraits {
        #if canImport(Glibc)
        StrategyTraits(spins: true, comesWithPlatform: true)
        #else
        StrategyTraits(comesWithPlatform: true)
        #endif
    }
}

/// `pthread-adaptive`: a bare `pthread_mutex_t` of glibc's kind `PTHREAD_MUTEX_ADAPTIVE_NP`.
///
/// A waiter pauses at most 100 times before it sleeps (`glibc.pthread.mutex_spin_count` in
/// `GLIBC_TUNABLES`). Without glibc it is `pthread-mutex`. Re-entry hangs.
///
/// - *Use when* sections are short and the program does without Foundation.
/// - *Not when* waiting threads need fairness.
/// - *Cost:* a waiter for a section of microseconds spins, and then sleeps.
///
/// ```sh
/// latchkey compare --strategies pthread-adaptive,pthread-mutex,adaptive --threads 1,2,8
/// ```
public typealias PthreadAdaptiveStrategy = RawLockStrategy<PthreadAdaptiveLock>
