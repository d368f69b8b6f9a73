import CLatchkeyHTTP

/// Reads the body of a request piece by piece, as it arrives.
///
/// For bodies that must not be held in memory as a whole. The check of a route's head gives it to
/// the request with ``Exchange/readBody(with:)``. `CLatchkeyHTTPBody.h` has the limits of the time.
///
/// A reader ends in one of three ways: the route's handler is called, ``take(_:of:)``, or another
/// caller while the client waits, has answered the exchange, or ``lose(_:)`` is called. The two
/// methods are never called at the same time, and not while the client waits, so a reader needs no
/// lock for state that only they use.
///
/// **Design.** The C side owns a box with the reader from ``Exchange/readBody(with:)`` until the
/// request is answered or lost, and lets it go by a callback on whatever thread that happens.
package protocol BodyReader: AnyObject, Sendable {
    /// Takes a piece of the body, which is not empty.
    ///
    /// Must not block. May answer the exchange before it returns: the rest of the body is then read
    /// and discarded, and the answer is sent after it.
    ///
    /// - Parameters:
    ///   - piece: valid during the call.
    ///   - exchange: the exchange of the body. Use it during the call, or until the client goes on.
    /// - Returns: whether the next piece is wanted at once.
    func take(_ piece: Bytes, of exchange: Exchange) -> BodyProgress

    /// The rest of the body will not come.
    ///
    /// No answer is needed. Called on the thread of the connection; or on the one that calls
    /// ``Exchange/readOn()``, if the request has ended while the client was made to wait.
    func lose(_ reason: BodyLoss)
}

/// The next step after a piece of a body.
package enum BodyProgress: Sendable {
    /// The next piece is given when it is there.
    case more
    /// The client must wait.
    ///
    /// Nothing is read from it until ``Exchange/readOn()`` is called, or the exchange is answered.
    /// One of the two must be done, once: on any thread, also before
    /// ``BodyReader/take(_:of:)`` has returned, and whatever happens to the client.
    case wait
}

/// Why a body is not read to its end.
package enum BodyLoss: Sendable {
    /// The client closed the connection, or the body is malformed.
    case client
    /// The body came too slowly, or the client was made to wait for too long.
    case deadline
    /// The server stops.
    case stopped
    /// The trailers after the body are over a limit: the request is answered as rejected.
    case refused
}

extension Exchange {
    /// Gives the body of this request to a reader, instead of keeping it for the handler.
    ///
    /// ``HTTPServerConfiguration/bodyBytesMax`` does not limit such a body. The handler is called
    /// after the last piece with an empty ``body``, and finds the reader in ``bodyReader``. Only at
    /// the head, and not together with an answer: see ``HTTPServer/init(_:log:head:handle:)``. A
    /// request without a body gets no call at the head, so its handler has no reader.
    package func readBody(with reader: any BodyReader) {
        let box = unsafe Unmanaged.passRetained(ReaderBox(reader))
        var callbacks = unsafe latchkey_http_body_reader()
        unsafe callbacks.context = box.toOpaque()
        unsafe callbacks.piece = { context, request, bytes, count in
            let reader = unsafe ReaderBox.reader(context)
            let base = unsafe bytes?.assumingMemoryBound(to: UInt8.self)
            let exchange = unsafe Exchange(request.unsafelyUnwrapped)
            switch unsafe reader.take(Bytes(base, count: count), of: exchange) {
            case .more: return LATCHKEY_HTTP_TAKEN
            case .wait: return LATCHKEY_HTTP_TAKEN_AND_WAIT
            }
        }
        unsafe callbacks.gone = { context, reason in
            unsafe ReaderBox.reader(context).lose(BodyLoss(reason))
        }
        unsafe callbacks.release = { context in
            unsafe Unmanaged<ReaderBox>.fromOpaque(context.unsafelyUnwrapped).release()
        }
        if unsafe !latchkey_http_request_read(request, &callbacks) {
            unsafe box.release()
            respond(.unavailable, closes: true) { $0.add("Cache-Control", "no-store") }
        }
    }

    /// The reader that was given to this request, or nil.
    package var bodyReader: (any BodyReader)? {
        unsafe latchkey_http_body_context(request).map { unsafe ReaderBox.reader($0) }
    }

    /// Lets a waiting client go on.
    ///
    /// Once for each ``BodyProgress/wait`` that is not followed by an answer. Do not use the
    /// exchange afterwards. Any thread.
    package func readOn() {
        unsafe latchkey_http_body_go_on(request)
    }
}

/// The box that the C side holds for a reader, because an existential has no address.
private final class ReaderBox: Sendable {
    private let reader: any BodyReader

    init(_ reader: any BodyReader) {
        self.reader = reader
    }

    static func reader(_ context: UnsafeMutableRawPointer?) -> any BodyReader {
        unsafe Unmanaged<ReaderBox>.fromOpaque(context.unsafelyUnwrapped)
            .takeUnretainedValue().reader
    }
}

extension BodyLoss {
    fileprivate init(_ reason: latchkey_http_body_reason) {
        switch reason {
        case LATCHKEY_HTTP_BODY_DEADLINE: self = .deadline
        case LATCHKEY_HTTP_BODY_STOPPED: self = .stopped
        case LATCHKEY_HTTP_BODY_REFUSED: self = .refused
        default: self = .client
        }
    }
}
