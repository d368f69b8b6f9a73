public import Synchronization

/// `Synchronization.Mutex` as a lock: a class, since `Mutex` itself cannot be copied.
///
/// Uses the two halves of `withLock`, because a lock is held beyond a call.
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

    /// Releases the mutex.
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

    /// The promises of the strategy.
    @inlinable public static var traits: StrategyTraits {
        StrategyTraits(spins: true, comesWithPlatform: true, tellsOfWaiting: false)
    }
}

/// `mutex`: `Synchronization.Mutex`, one of two locks on Linux: a report says which (`Mutex:`).
///
/// Re-entry stops with `priority-inheriting-futex` (Swift 6.3.1 and earlier), and hangs with
/// `spinning-futex`.
///
/// - *Use when* threads do not outnumber processors.
/// - *Not when* they do, with `priority-inheriting-futex`: each contended unlock hands the lock
///   over, and that can be a hundred times slower.
/// - *Trap:* a failed `withLockIfAvailable` makes the holder's unlock a system call.
///
/// ```sh
/// latchkey compare --strategies mutex,lock --threads 2,4,8
/// ```
public typealias MutexStrategy = RawLockStrategy<MutexLock>
