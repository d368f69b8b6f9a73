/// `read-write-lock`: `pthread_rwlock_t`.
///
/// Readers share, writers exclude, and a waiting writer goes before new readers.
///
/// Entering again on the same thread: inside a write it stops the process in every build with
/// glibc; a write inside a read hangs; a read inside a read hangs only while a writer waits, so a
/// test without contention does not find it.
///
/// - *Guarantees:* readers share; a waiting writer keeps new readers out.
/// - *Use it when* reads are long and processors are many.
/// - *Not when* sections are short: all readers write to the cache line with the count of readers.
/// - *Trap:* a few writes cost the whole gain of sharing: compare a workload of reads only with one
///   of half writes. glibc's default prefers readers and starves writers. With writers preferred, a
///   read inside a read hangs while a writer waits.
///
/// ```sh
/// latchkey compare --strategies read-write-lock,lock --threads 2 --read-ratio 0.5,1
/// ```
public struct ReadWriteLockStrategy: NamedStrategy, LockingStrategy, TryingStrategy {
    /// The strategy's case.
    public static let kind = StrategyKind.readWriteLock

    /// The strategy in one sentence.
    public static let summary = "pthread_rwlock with writer preference."

    /// What the strategy promises.
    @inlinable public static var traits: StrategyTraits {
        StrategyTraits(allowsConcurrentReaders: true, comesWithPlatform: true)
    }

    /// The lock.
    public let rawLock: ReadWriteLock

    /// Makes a strategy for one value.
    @inlinable public init() { rawLock = ReadWriteLock() }
}

#if canImport(Glibc)
extension ReadWriteLockStrategy: TimedStrategy {}
#endif
