#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// A recursive `pthread_mutex_t`.
///
/// **Design.** The handle is the lock. An unexpected return code stops the process with the name
/// of the call, because the handle is then not in the state that the caller assumes.
///
/// SAFETY: `@safe`, `@unchecked Sendable`: the class alone allocates and frees the handle, and
/// every call on it is safe from any thread.
@safe
final class PthreadRecursiveLock: @unchecked Sendable {
    private let handle: UnsafeMutablePointer<pthread_mutex_t>

    init() {
        unsafe handle = .allocate(capacity: 1)
        var attributes = pthread_mutexattr_t()
        unsafe check(pthread_mutexattr_init(&attributes), "pthread_mutexattr_init")
        unsafe check(
            pthread_mutexattr_settype(&attributes, CInt(PTHREAD_MUTEX_RECURSIVE)),
            "pthread_mutexattr_settype"
        )
        unsafe check(pthread_mutex_init(handle, &attributes), "pthread_mutex_init")
        unsafe check(pthread_mutexattr_destroy(&attributes), "pthread_mutexattr_destroy")
    }

    deinit {
        unsafe check(pthread_mutex_destroy(handle), "pthread_mutex_destroy")
        unsafe handle.deallocate()
    }

    func lock() {
        unsafe check(pthread_mutex_lock(handle), "pthread_mutex_lock")
    }

    func tryLock() -> Bool {
        let code = unsafe pthread_mutex_trylock(handle)
        if code != EBUSY {
            check(code, "pthread_mutex_trylock")
        }
        return code == 0
    }

    func unlock() {
        unsafe check(pthread_mutex_unlock(handle), "pthread_mutex_unlock")
    }

    private func check(_ code: CInt, _ call: StaticString) {
        if code != 0 {
            fatalError("Latchkey: \(call) failed with code \(code).")
        }
    }
}
