internal import CLatchkeySystem

#if canImport(Glibc)
public import Glibc
#elseif canImport(Musl)
public import Musl
#else
public import Darwin
#endif

/// `pthread_rwlock_t` that prefers writers: new readers wait for a waiting writer.
///
/// Only glibc can be told to prefer writers; with another C library its own rule holds.
///
/// glibc prefers readers by default, and then a steady stream of readers starves every writer. For
/// the kind chosen here, its documentation forbids nested readers
/// (`PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP`).
///
/// **Design.** The handle is the lock; there is no other state. Every return code is checked. An
/// unexpected one stops the process with the name of the call, because the handle is then not in
/// the state that the caller assumes.
///
/// SAFETY: `@safe`, `@unchecked Sendable`: the class alone allocates and frees the handle, and
/// every call on it is safe from any thread.
@safe
public final class ReadWriteLock: RawLock, @unchecked Sendable {
    /// The promise.
    @inlinable public static var rawLockPromise: Promise<ReadWriteLock> { unsafe .unchecked() }

    @usableFromInline let handle: UnsafeMutablePointer<pthread_rwlock_t>

    /// Makes a lock that is free.
    public init() {
        unsafe handle = .allocate(capacity: 1)
        var attributes = pthread_rwlockattr_t()
        unsafe check(pthread_rwlockattr_init(&attributes), "pthread_rwlockattr_init")
        #if canImport(Glibc)
        unsafe check(
            pthread_rwlockattr_setkind_np(
                &attributes,
                CInt(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP)
            ),
            "pthread_rwlockattr_setkind_np"
        )
        #endif
        unsafe check(pthread_rwlock_init(handle, &attributes), "pthread_rwlock_init")
        unsafe check(pthread_rwlockattr_destroy(&attributes), "pthread_rwlockattr_destroy")
    }

    deinit {
        unsafe check(pthread_rwlock_destroy(handle), "pthread_rwlock_destroy")
        unsafe handle.deallocate()
    }

    /// Waits until the calling thread shares the lock.
    @inlinable public func lockShared() {
        unsafe check(pthread_rwlock_rdlock(handle), "pthread_rwlock_rdlock", .read)
    }

    /// Shares the lock if that is possible at once.
    @inlinable public func tryLockShared() -> Bool {
        unsafe checkTry(pthread_rwlock_tryrdlock(handle), "pthread_rwlock_tryrdlock")
    }

    /// One call for readers and writers.
    @inlinable public func unlockShared() { unlock() }

    /// Waits until the calling thread holds the lock.
    @inlinable public func lock() {
        unsafe check(pthread_rwlock_wrlock(handle), "pthread_rwlock_wrlock", .write)
    }

    /// Takes the lock if that is possible at once.
    @inlinable public func tryLock() -> Bool {
        unsafe checkTry(pthread_rwlock_trywrlock(handle), "pthread_rwlock_trywrlock")
    }

    /// Releases the lock.
    @inlinable public func unlock() {
        unsafe check(pthread_rwlock_unlock(handle), "pthread_rwlock_unlock")
    }
}

extension ReadWriteLock {
    @inlinable func check(_ code: CInt, _ call: StaticString, _ access: AccessMode = .write) {
        if code != 0 {
            stop(code, call, access)
        }
    }

    /// False if the lock is taken (`EBUSY`).
    @inlinable func checkTry(_ code: CInt, _ call: StaticString) -> Bool {
        if code != 0 && code != EBUSY {
            stop(code, call)
        }
        return code == 0
    }

    /// `EDEADLK` means that the calling thread is inside and writes.
    @usableFromInline
    func stop(_ code: CInt, _ call: StaticString, _ access: AccessMode = .write) -> Never {
        if code == EDEADLK {
            Reentry.stop(access.rawValue, inside: "write", Self.name)
        }
        fatalError("Latchkey: \(call) failed with code \(code).")
    }
}

#if canImport(Glibc)
// Only glibc can wait by a clock that is never set.

extension ReadWriteLock: TimedLock {
    /// The promise.
    @inlinable public static var timedLockPromise: Promise<ReadWriteLock> { unsafe .unchecked() }

    /// Waits until the calling thread holds the lock, or until the deadline.
    public func lock(before deadline: ContinuousClock.Instant) -> Bool {
        wait(before: deadline, "pthread_rwlock_clockwrlock", .write) {
            unsafe latchkey_system_write_lock_for(handle, $0)
        }
    }

    /// Waits until the calling thread shares the lock, or until the deadline.
    public func lockShared(before deadline: ContinuousClock.Instant) -> Bool {
        wait(before: deadline, "pthread_rwlock_clockrdlock", .read) {
            unsafe latchkey_system_read_lock_for(handle, $0)
        }
    }

    private func wait(
        before deadline: ContinuousClock.Instant,
        _ call: StaticString,
        _ access: AccessMode,
        _ lock: (_ nanoseconds: Int64) -> CInt
    ) -> Bool {
        deadline.bounding { nanoseconds in
            let code = lock(nanoseconds)
            if code != 0 && code != ETIMEDOUT {
                stop(code, call, access)
            }
            return code == 0
        }
    }
}
#endif

extension ReadWriteLock: NamedLock {
    /// The strategy's case.
    public static let kind = StrategyKind.readWriteLock

    /// The strategy in one sentence.
    public static let summary = "pthread_rwlock with writer preference."

    /// The promises of the strategy.
    @inlinable public static var traits: StrategyTraits {
        StrategyTraits(allowsConcurrentReaders: true, comesWithPlatform: true)
    }
}

/// `read-write-lock`: `pthread_rwlock_t`; a waiting writer goes before new readers.
///
/// Re-entry inside a write stops every build with glibc. A write inside a read hangs; a read inside
/// a read only while a writer waits, so that a test without contention misses it.
///
/// - *Guarantees:* readers share; a waiting writer keeps new readers out.
/// - *Use when* reads are long and processors are many.
/// - *Not when* sections are short or some accesses write: readers write to one cache line.
///
/// ```sh
/// latchkey compare --strategies read-write-lock,lock --threads 2 --read-ratio 0.5,1
/// ```
public typealias ReadWriteLockStrategy = RawLockStrategy<ReadWriteLock>
