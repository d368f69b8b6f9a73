internal import Glibc
internal import LatchkeySync

/// Threads that end together.
///
/// **Design.** The list is guarded, and a thread is joined once. The body is kept for the thread
/// alone.
final class ThreadGroup: Sendable {
    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    private let threads = Guarded<[pthread_t]>([])

    func start(_ body: @escaping @Sendable () -> Void) {
        let thread = Self.make(body)
        threads.write { $0.append(thread) }
    }

    /// Starts a thread that nothing waits for.
    static func startAlone(_ body: @escaping @Sendable () -> Void) {
        pthread_detach(make(body))
    }

    private static func make(_ body: @escaping @Sendable () -> Void) -> pthread_t {
        var thread = pthread_t()
        let code = unsafe pthread_create(
            &thread,
            nil,
            { context in
                guard let context = unsafe context else { return nil }
                unsafe Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
                return nil
            },
            Unmanaged.passRetained(Body(body)).toOpaque()
        )
        precondition(code == 0, "pthread_create failed with \(code).")
        return thread
    }

    /// Waits for the end of all threads.
    func join() {
        let ended = threads.write { threads in
            defer { threads = [] }
            return threads
        }
        for thread in ended {
            let code = pthread_join(thread, nil)
            precondition(code == 0, "pthread_join failed with \(code).")
        }
    }
}
