import Glibc

/// State behind a pthread mutex, for what happens at start and at a scrape.
///
/// **Design.** The mutex guards `state` and nothing else; who holds it calls nothing that could ask
/// for it again. It is not `Synchronization.Mutex`: under ThreadSanitizer a contended one raises
/// false reports with the toolchains that this package supports.
///
/// SAFETY: `@safe` and `@unchecked Sendable` because the class alone allocates and frees the mutex
/// and `state` is touched only while the mutex is held.
@safe
final class Guarded<State>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var state: State

    init(_ state: State) {
        self.state = state
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        let code = unsafe pthread_mutex_init(mutex, nil)
        precondition(code == 0, "pthread_mutex_init failed with \(code).")
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    /// Runs `body` alone.
    ///
    /// It must not enter again.
    func withLock<Result>(_ body: (inout State) -> Result) -> Result {
        let code = unsafe pthread_mutex_lock(mutex)
        precondition(code == 0, "pthread_mutex_lock failed with \(code).")
        defer { unsafe pthread_mutex_unlock(mutex) }
        return body(&state)
    }
}
