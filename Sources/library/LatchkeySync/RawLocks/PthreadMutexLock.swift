internal import CLatchkeySystem

#if canImport(Glibc)
public import Glibc
#elseif canImport(Musl)
public import Musl
#else
public import Darwin
#endif

/// A `pthread_mutex_t` of the default kind, in one allocation.
///
/// `NIOLock` and the box of SwiftNIO hold the same. Only ``Monitor`` has recursive ones, and
/// ``PthreadAdaptiveLock`` adaptive ones.
///
/// **Design.** The handle is the lock; there is no other state. Every return code is checked. An
/// unexpected one stops the process with the name of the call, because the handle is then not in
/// the state that the caller assumes. The default kind does not check for errors: debug builds
/// find a nested access in ``Synchronized``, where both places are known.
///
/// SAFETY: `@safe`, `@unchecked Sendable` because every call on the handle is safe from any thread.
/// It is in an object, which the lock keeps, and an object does not move.
@safe
public struct PthreadMutexLock: RawLock, @unchecked Sendable {
    /// The promise.
    @inlinable public static var rawLockPromise: Promise<Self> { unsafe .unchecked() }

    @usableFromInline let storage: ManagedBuffer<Void, pthread_mutex_t>

    static var recursive: CInt { CInt(PTHREAD_MUTEX_RECURSIVE) }

    /// The kind that spins before it sleeps; nil where the C library has none.
    static var adaptive: CInt? {
        #if canImport(Glibc)
        CInt(PTHREAD_MUTEX_ADAPTIVE_NP)
        #else
        nil
        #endif
    }

    /// Makes a lock that is free.
    public init() { self.init(type: nil) }

    /// - Parameter type: The kind for `pthread_mutexattr_settype`; `nil` for the default kind.
    init(type: CInt?) {
        unsafe storage = PthreadMutexStorage.create(minimumCapacity: 1) { _ in }
        var attributes = pthread_mutexattr_t()
        unsafe check(pthread_mutexattr_init(&attributes), "pthread_mutexattr_init")
        if let type {
            unsafe check(
                pthread_mutexattr_settype(&attributes, type),
                "pthread_mutexattr_settype"
            )
        }
        unsafe storage.withUnsafeMutablePointerToElements { handle in
            unsafe handle.initialize(to: pthread_mutex_t())
            unsafe check(pthread_mutex_init(handle, &attributes), "pthread_mutex_init")
        }
        unsafe check(pthread_mutexattr_destroy(&attributes), "pthread_mutexattr_destroy")
    }

    /// Waits until the calling thread holds the lock.
    @inlinable public func lock() {
        unsafe storage.withUnsafeMutablePointerToElements { handle in
            unsafe check(pthread_mutex_lock(handle), "pthread_mutex_lock")
        }
    }

    /// Takes the lock if that is possible at once.
    @inlinable public func tryLock() -> Bool {
        unsafe storage.withUnsafeMutablePointerToElements { handle in
            let code = unsafe pthread_mutex_trylock(handle)
            if code != EBUSY {
                check(code, "pthread_mutex_trylock")
            }
            return code == 0
        }
    }

    /// Releases the lock.
    @inlinable public func unlock() {
        unsafe storage.withUnsafeMutablePointerToElements { handle in
            unsafe check(pthread_mutex_unlock(handle), "pthread_mutex_unlock")
        }
    }

    @inlinable func check(_ code: CInt, _ call: StaticString) {
        if code != 0 {
            Self.stop(code, call)
        }
    }

    @usableFromInline static func stop(_ code: CInt, _ call: StaticString) -> Never {
        fatalError("Latchkey: \(call) failed with code \(code).")
    }
}

/// Destroys the mutex with its memory.
///
/// SAFETY: `@safe` because no thread uses the mutex any more when this is freed.
@safe
private final class PthreadMutexStorage: ManagedBuffer<Void, pthread_mutex_t> {
    deinit {
        unsafe withUnsafeMutablePointerToElements { handle in
            let code = unsafe pthread_mutex_destroy(handle)
            if code != 0 {
                PthreadMutexLock.stop(code, "pthread_mutex_destroy")
            }
            unsafe handle.deinitialize(count: 1)
        }
    }
}

#if canImport(Glibc)
// Only glibc can wait by a clock that is never set.

extension PthreadMutexLock: TimedLock {
    /// The promise.
    @inlinable public static var timedLockPromise: Promise<Self> { unsafe .unchecked() }

    /// Waits until the calling thread holds the lock, or until the deadline.
    public func lock(before deadline: ContinuousClock.Instant) -> Bool {
        deadline.bounding { nanoseconds in
            let code = unsafe storage.withUnsafeMutablePointerToElements { handle in
                unsafe latchkey_system_mutex_lock_for(handle, nanoseconds)
            }
            if code != ETIMEDOUT {
                check(code, "pthread_mutex_clocklock")
            }
            return code == 0
        }
    }
}
#endif

extension PthreadMutexLock: NamedLock {
    /// The strategy's case.
    public static let kind = StrategyKind.pthreadMutex

    /// The strategy in one sentence.
    public static let summary = "A bare pthread_mutex_t around every access."

    /// The promises of the strategy.
    @inlinable public static var traits: StrategyTraits {
        StrategyTraits(comesWithPlatform: true)
    }
}

/// `pthread-mutex`: a bare `pthread_mutex_t` around every access, as in SwiftNIO's locked box.
///
/// Re-entry hangs.
///
/// - *Use when* you would use `lock`, which is the same mutex, and do without Foundation.
/// - *Not when* waiting threads need fairness.
/// - *Cost:* a waiter sleeps at once: short sections call the kernel for most waits.
public typealias PthreadMutexStrategy = RawLockStrategy<PthreadMutexLock>
