import CLatchkeyHTTP

extension Exchange {
    /// Has the owner of this request told if it is taken away: its client has gone, it is late, or
    /// the server stops.
    ///
    /// For an owner that holds something as long as the request waits, such as a place among a
    /// bounded number. A request that was taken away already is told at once. It must be answered
    /// all the same, in vain. Once for an exchange, on any thread, until it is answered.
    ///
    /// A client that has gone is noticed within half a second, if ``awaitAnswer(for:)`` was called:
    /// without it the request keeps its deadline, which is short.
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

/// What the C side holds for a closure, which has no address.
private final class ClosureBox: Sendable {
    let closure: @Sendable () -> Void

    init(_ closure: @escaping @Sendable () -> Void) {
        self.closure = closure
    }
}
