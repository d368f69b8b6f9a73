public import Glibc

/// `pthread_rwlock_t` that prefers writers: new readers wait behind a waiting writer.
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
    @usableFromInline let handle: UnsafeMutablePointer<pthread_rwlock_t>

    /// Makes a lock that is free.
    public init() {
        unsafe handle = .allocate(capacity: 1)
        var attributes = pthread_rwlockattr_t()
        unsafe check(pthread_rwlockattr_init(&attributes), "pthread_rwlockattr_init")
        unsafe check(
            pthread_rwlockattr_setkind_np(
                &attributes,
                CInt(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP)
            ),
            "pthread_rwlockattr_setkind_np"
        )
        unsafe check(pthread_rwlock_init(handle, &attributes), "pthread_rwlock_init")
        unsafe check(pthread_rwlockattr_destroy(&attributes), "pthread_rwlockattr_destroy")
    }

    deinit {
        unsafe check(pthread_rwlock_destroy(handle), "pthread_rwlock_destroy")
        unsafe handle.deallocate()
    }

    /// Readers share.
    @inlinable public static var traits: StrategyTraits {
        StrategyTraits(allowsConcurrentReaders: true)
    }

    /// Waits until the calling thread shares the lock.
    @inlinable
    public func lockShared() {
        unsafe check(pthread_rwlock_rdlock(handle), "pthread_rwlock_rdlock")
    }

    /// Shares the lock if that is possible at once.
    @inlinable
    public func tryLockShared() -> Bool {
        unsafe checkTry(pthread_rwlock_tryrdlock(handle), "pthread_rwlock_tryrdlock")
    }

    /// One call for readers and writers.
    @inlinable public func unlockShared() { unlock() }

    /// Waits until the calling thread holds the lock.
    @inlinable
    public func lock() {
        unsafe check(pthread_rwlock_wrlock(handle), "pthread_rwlock_wrlock")
    }

    /// Takes the lock if that is possible at once.
    @inlinable
    public func tryLock() -> Bool {
        unsafe checkTry(pthread_rwlock_trywrlock(handle), "pthread_rwlock_trywrlock")
    }

    /// Lets go.
    @inlinable
    public func unlock() {
        unsafe check(pthread_rwlock_unlock(handle), "pthread_rwlock_unlock")
    }
}

extension ReadWriteLock {
    @inlinable
    func check(_ code: CInt, _ call: StaticString) {
        if code != 0 {
            stop(code, call)
        }
    }

    /// False if the lock is taken, which `EBUSY` says.
    @inlinable
    func checkTry(_ code: CInt, _ call: StaticString) -> Bool {
        if code != 0 && code != EBUSY {
            stop(code, call)
        }
        return code == 0
    }

    @usableFromInline
    func stop(_ code: CInt, _ call: StaticString) -> Never {
        fatalError("Latchkey: \(call) failed with code \(code).")
    }
}
