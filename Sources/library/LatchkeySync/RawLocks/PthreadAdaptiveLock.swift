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

    /// Lets go.
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

    /// What the strategy promises.
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
/// A waiting thread spins before it sleeps: it pauses about twice as often as earlier waits on the
/// same mutex needed on average, and at most 100 times (`glibc.pthread.mutex_spin_count` in
/// `GLIBC_TUNABLES`). Musl and Apple's systems have no such kind: there it is `pthread-mutex`, and
/// does not spin. Entering again on the same thread hangs.
///
/// - *Guarantees:* nothing beyond the common ones.
/// - *Use it when* sections are short, the program does without Foundation, and waiting is to be
///   the C library's.
/// - *Not when* waiting threads need fairness.
/// - *Trap:* a hundred pauses are over in microseconds. If the section is longer, a waiter spins
///   and then sleeps all the same. A running thread can overtake waiting ones, as under `lock`.
///
/// ```sh
/// latchkey compare --strategies pthread-adaptive,pthread-mutex,adaptive --threads 1,2,8
/// ```
public typealias PthreadAdaptiveStrategy = RawLockStrategy<PthreadAdaptiveLock>
