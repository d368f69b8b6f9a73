public import Synchronization

/// `Synchronization.Mutex` as a lock: a class, since `Mutex` itself cannot be copied.
///
/// By the two halves of `withLock`, because a lock is held beyond a call.
///
/// **Design.** Never tried before waiting: in the toolchains where it is a priority-inheriting
/// futex, a failed try is a system call and makes the holder's unlock another one. So the observer
/// never hears ``EntryObserver/isBlocked(_:)`` and has to judge by sampling the wait.
///
/// Such a futex is handed over inside the kernel, where ThreadSanitizer sees no synchronization. In
/// debug builds, an atomic beside it shows that.
public final class MutexLock: RawLock {
    /// The promise.
    @inlinable public static var rawLockPromise: Promise<MutexLock> { unsafe .unchecked() }

    @usableFromInline let mutex = Mutex<Void>(())
    #if DEBUG
    @usableFromInline let handOver = Atomic(false)
    #endif

    /// Makes a lock that is free.
    @inlinable public init() {}

    /// Waits for the mutex.
    @inlinable public func lock() {
        mutex._unsafeLock()
        showTaken()
    }

    /// Takes the mutex if it is free.
    @inlinable public func tryLock() -> Bool {
        guard mutex._unsafeTryLock() else { return false }
        showTaken()
        return true
    }

    /// Lets go of the mutex.
    @inlinable public func unlock() {
        showReleased()
        mutex._unsafeUnlock()
    }

    /// Pairs with the store of ``showReleased()``.
    @inlinable func showTaken() {
        #if DEBUG
        _ = handOver.load(ordering: .acquiring)
        #endif
    }

    @inlinable func showReleased() {
        #if DEBUG
        handOver.store(false, ordering: .releasing)
        #endif
    }
}

extension MutexLock: NamedLock {
    /// The strategy's case.
    public static let kind = StrategyKind.mutex

    /// The strategy in one sentence.
    public static let summary = "Mutex of Swift's Synchronization module."

    /// What the strategy promises.
    @inlinable public static var traits: StrategyTraits {
        StrategyTraits(spins: true, comesWithPlatform: true, tellsOfWaiting: false)
    }
}

/// `mutex`: `Synchronization.Mutex`, what Swift ships.
///
/// On Linux, Swift 6.3.1 and earlier have one `Mutex`, and later toolchains another one. A report
/// says which one it measured (`Mutex:` in its first lines).
///
/// Entering again on the same thread stops with `priority-inheriting-futex`, and hangs with
/// `spinning-futex`.
///
/// - *Guarantees:* nothing beyond the common ones.
/// - *Use it when* threads do not outnumber processors.
/// - *Not when* they do, and a report says `priority-inheriting-futex`: the kernel hands such a
///   lock to the next thread at every contended unlock.
/// - *Trap:* `priority-inheriting-futex` is among the fastest until threads outnumber processors.
///   One thread more then makes it a hundred times slower or more, evenly for all threads. A failed
///   `withLockIfAvailable` makes the holder's unlock a system call, so contention is sampled here,
///   never tried.
///
/// ```sh
/// latchkey compare --strategies mutex,lock --threads 2,4,8
/// ```
public typealias MutexStrategy = RawLockStrategy<MutexLock>
