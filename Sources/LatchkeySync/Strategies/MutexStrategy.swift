/// `mutex`: `Synchronization.Mutex`, what Swift ships.
///
/// Entering again on the same thread stops or hangs, as the toolchain's `Mutex` does.
///
/// **Design.** Never tried before waiting: in the toolchains where it is a priority-inheriting
/// futex, a failed `withLockIfAvailable` is a system call and makes the holder's unlock another
/// one. So the observer never hears ``EntryObserver/isBlocked(_:)`` and has to judge by sampling
/// the wait.
///
/// - *Guarantees:* nothing beyond the common ones.
/// - *Use it when* threads do not outnumber processors.
/// - *Not when* they do, with Swift 6.3 on Linux: ownership is handed over in the kernel at every
///   contended unlock.
/// - *Trap:* it is among the fastest until threads outnumber processors. One thread more then makes
///   it a hundred times slower or more, evenly for all threads. A try with `withLockIfAvailable`
///   makes the holder's unlock a system call, so contention is sampled here, never tried. Newer
///   toolchains link another `Mutex`: the report's fingerprint says which one was measured.
///
/// ```sh
/// latchkey compare --strategies mutex,lock --threads 2,4,8
/// ```
public struct MutexStrategy: NamedStrategy, LockingStrategy {
    /// The strategy's case.
    public static let kind = StrategyKind.mutex

    /// The strategy in one sentence.
    public static let summary = "Mutex of Swift's Synchronization module."

    /// What the strategy promises.
    @inlinable public static var traits: StrategyTraits {
        StrategyTraits(spins: true, comesWithPlatform: true, tellsOfWaiting: false)
    }

    /// The lock.
    public let rawLock: MutexLock

    /// Makes a strategy for one value.
    @inlinable public init() { rawLock = MutexLock() }
}
