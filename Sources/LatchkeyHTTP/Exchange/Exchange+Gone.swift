import CLatchkeyHTTP
internal import Synchronization

extension Exchange {
    /// Has the owner of this request told if it is taken away: its client has gone, it is late, or
    /// the server stops.
    ///
    /// For an owner that holds something as long as the request waits, such as a place among a
    /// bounded number. A request that was taken away already is told at once. It must be answered
    /// all the same, in vain. Once for an exchange, on any thread, until it is answered.
    ///
    /// A client that has gone, or has closed its half of the connection, is noticed within half a
    /// second. The request keeps its deadline.
    ///
    /// **Design.** The C side owns a box with the closure until the request is over, and lets it go
    /// by a callback on whatever thread that happens.
    ///
    /// - Parameter tell: called at most once, on any thread, also while the request is being
    ///   answered on another one. Must not block; may answer the exchange.
    package func whenGone(_ tell: @escaping @Sendable () -> Void) {
        var callbacks = unsafe latchkey_http_gone()
        unsafe callbacks.context = Unmanaged.passRetained(ClosureBox(tell)).toOpaque()
        unsafe callbacks.gone = { context in
            unsafe Unmanaged<ClosureBox>.fromOpaque(context.unsafelyUnwrapped)
                .takeUnretainedValue().closure()
        }
        unsafe callbacks.release = { context in
            unsafe Unmanaged<ClosureBox>.fromOpaque(context.unsafelyUnwrapped).release()
        }
        unsafe latchkey_http_request_when_gone(request, &callbacks)
    }
}

extension Exchange {
    /// Begins to notice that this request is taken away, as ``whenGone(_:)`` does, once for an
    /// exchange.
    ///
    /// - Returns: what says so, also when the exchange must not be used any more.
    package func presence() -> Presence {
        let presence = Presence()
        whenGone { presence.end() }
        return presence
    }
}

/// Whether somebody still waits for the answer to a request.
///
/// For an owner who works for it piece by piece. Ends once, on any thread.
package final class Presence: Sendable {
    private let hasEnded = Atomic(false)

    package init() {}

    package var isOver: Bool { hasEnded.load(ordering: .sequentiallyConsistent) }

    package func end() {
        hasEnded.store(true, ordering: .sequentiallyConsistent)
    }
}

/// What the C side holds for a closure, which has no address.
private final class ClosureBox: Sendable {
    let closure: @Sendable () -> Void

    init(_ closure: @escaping @Sendable () -> Void) {
        self.closure = closure
    }
}
