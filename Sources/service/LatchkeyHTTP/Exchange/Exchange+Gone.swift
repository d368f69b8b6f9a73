import CLatchkeyHTTP
internal import Synchronization

extension Exchange {
    /// Tells the owner of this request if it is taken away: its client has gone, it is late, or the
    /// server stops.
    ///
    /// For an owner that holds something while the request waits, such as a place among a limited
    /// number. If the request was taken away already, the owner is told at once. The exchange must
    /// still be answered; the answer is discarded. Can be called several times for an exchange:
    /// each owner is told. On any thread, until it is answered.
    ///
    /// A client that has gone, or has closed its half of the connection, is noticed within half a
    /// second. The request keeps its deadline.
    ///
    /// **Design.** The C side owns the structure and a box with the closure until the request is
    /// over, and lets them go by a callback on whatever thread that happens.
    ///
    /// - Parameter tell: called at most once, on any thread, also while the request is being
    ///   answered on another one. Must not block; may answer the exchange.
    package func whenGone(_ tell: @escaping @Sendable () -> Void) {
        let box = ClosureBox(tell)
        unsafe box.callbacks.pointee.context = Unmanaged.passRetained(box).toOpaque()
        unsafe box.callbacks.pointee.gone = { context in
            unsafe Unmanaged<ClosureBox>.fromOpaque(context.unsafelyUnwrapped)
                .takeUnretainedValue().closure()
        }
        unsafe box.callbacks.pointee.release = { context in
            unsafe Unmanaged<ClosureBox>.fromOpaque(context.unsafelyUnwrapped).release()
        }
        unsafe latchkey_http_request_when_gone(request, box.callbacks)
    }
}

extension Exchange {
    /// Begins to notice that this request is taken away, as ``whenGone(_:)`` does.
    ///
    /// - Returns: an object that tells this, also when the exchange must not be used any more.
    package func presence() -> Presence {
        let presence = Presence()
        whenGone { presence.end() }
        return presence
    }
}

/// Whether a client still waits for the answer to a request.
///
/// For an owner that works on the answer piece by piece. Ends once, on any thread.
package final class Presence: Sendable {
    private let hasEnded = Atomic(false)

    package init() {}

    package var isOver: Bool { hasEnded.load(ordering: .sequentiallyConsistent) }

    package func end() {
        hasEnded.store(true, ordering: .sequentiallyConsistent)
    }
}

/// The box that the C side holds for a closure, which has no address.
///
/// SAFETY: `@unchecked Sendable` because the C side alone changes the structure, under its lock.
@safe
private final class ClosureBox: @unchecked Sendable {
    let closure: @Sendable () -> Void
    let callbacks: UnsafeMutablePointer<latchkey_http_gone>

    init(_ closure: @escaping @Sendable () -> Void) {
        self.closure = closure
        unsafe callbacks = .allocate(capacity: 1)
        unsafe callbacks.initialize(to: latchkey_http_gone())
    }

    deinit {
        unsafe callbacks.deallocate()
    }
}
