import CLatchkeyHTTP

/// The body of an answer that is pushed piece by piece, from any thread.
///
/// `CLatchkeyHTTPStream.h` says on which threads the events come. They must not block.
///
/// **Design.** The C side holds a reference to this object until it has called its last event, and
/// this object holds the C stream until it is freed. So a producer may write while it has the
/// object, also after the client has gone.
///
/// SAFETY: `@safe` because the stream's pointer stays inside, and is valid until deinit.
/// `@unchecked Sendable` because the pointer is set before any other code has the object, and the C
/// functions may be called on any thread.
@safe
package final class ResponseStream: @unchecked Sendable {
    package enum WriteResult: Sendable {
        /// The piece was taken and will be sent after the earlier ones.
        case accepted
        /// Nothing was taken. ``Events/hasRoom`` is called when the buffer has room for the piece.
        case full
        /// Nothing was taken, and nothing will be.
        case gone
    }

    /// Why a stream is over.
    package enum End: Sendable {
        /// The producer has ended it, and everything was handed over for sending.
        case ended
        /// The client has closed the connection, or its half of it, or there was no room for a
        /// piece.
        case client
        /// The client took the bytes too slowly, or the request had been taken away before.
        case deadline
        /// The server stops.
        case stopped
    }

    package struct Events: Sendable {
        /// Called once after a piece was answered with ``WriteResult/full``.
        package var hasRoom: @Sendable (ResponseStream) -> Void
        /// The kernel has the bytes written before ``ResponseStream/awaitSent(_:)`` with this mark,
        /// or the stream is over.
        package var sent: @Sendable (UInt32) -> Void
        /// The server drains, which is the time for a last piece.
        ///
        /// The default ends the stream.
        package var draining: @Sendable (ResponseStream) -> Void
        /// The stream is over.
        ///
        /// Called exactly once.
        package var gone: @Sendable (ResponseStream, End) -> Void

        package init(
            hasRoom: @escaping @Sendable (ResponseStream) -> Void = { _ in },
            sent: @escaping @Sendable (UInt32) -> Void = { _ in },
            draining: @escaping @Sendable (ResponseStream) -> Void = { $0.end() },
            gone: @escaping @Sendable (ResponseStream, End) -> Void = { _, _ in }
        ) {
            self.hasRoom = hasRoom
            self.sent = sent
            self.draining = draining
            self.gone = gone
        }
    }

    /// How many bytes are buffered at most by default.
    ///
    /// A longer piece is taken into an empty buffer.
    package static let bufferBytesMax = 64 * 1024

    private let events: Events
    fileprivate var stream: OpaquePointer?

    private init(_ events: Events) {
        self.events = events
    }

    deinit {
        if let stream = unsafe stream {
            unsafe latchkey_http_stream_release(stream)
        }
    }

    /// Sends this piece, whole and unmixed with others, or says why not.
    package func write(_ bytes: RawSpan) -> WriteResult {
        guard let stream = unsafe stream else { return .gone }
        return WriteResult(
            unsafe bytes.withUnsafeBytes {
                unsafe latchkey_http_stream_write(stream, $0.baseAddress, $0.count)
            }
        )
    }

    /// Sends this piece without a copy.
    package func write(_ piece: StreamPiece) -> WriteResult {
        guard let stream = unsafe stream, let block = unsafe piece.block else { return .gone }
        return WriteResult(unsafe latchkey_http_stream_write_block(stream, block))
    }

    package func write(_ bytes: [UInt8]) -> WriteResult {
        unsafe write(bytes.span.bytes)
    }

    /// Asks for a call of ``Events/sent`` once the kernel has the bytes written so far.
    ///
    /// - Parameter mark: Given to it; not 0.
    /// - Returns: false if there will be no such call: the kernel has it already, an earlier call
    ///   has not come yet, or the stream is not being sent.
    package func awaitSent(_ mark: UInt32) -> Bool {
        unsafe stream.map { unsafe latchkey_http_stream_await($0, mark) } ?? false
    }

    /// How many bytes were accepted and not yet handed over for sending.
    package var unsentByteCount: Int {
        unsafe stream.map { unsafe latchkey_http_stream_unsent($0) } ?? 0
    }

    /// Ends the stream after a last short piece, which is taken even if the buffer is full.
    package func end(with bytes: [UInt8]) {
        if let stream = unsafe stream {
            unsafe bytes.withUnsafeBytes {
                unsafe latchkey_http_stream_end_with(stream, $0.baseAddress, $0.count)
            }
        }
    }

    /// Ends the stream after the buffered bytes.
    ///
    /// Can be called several times.
    package func end() {
        if let stream = unsafe stream {
            unsafe latchkey_http_stream_end(stream)
        }
    }
}

extension ResponseStream {
    /// Makes a stream, and the answer whose body it is; nil without memory.
    fileprivate static func make(
        _ events: Events,
        bufferBytesMax: Int,
        budget: ClientBudget?,
        isWhole: Bool
    ) -> (ResponseStream, response: OpaquePointer?) {
        let made = ResponseStream(events)
        var options = unsafe latchkey_http_stream_options()
        unsafe options.buffer_bytes_max = max(1, bufferBytesMax)
        unsafe options.account = budget?.account
        unsafe options.client = budget?.number ?? 0
        unsafe options.is_whole = isWhole
        unsafe options.has_room = { context in
            let stream = unsafe ResponseStream.from(context)
            stream.events.hasRoom(stream)
        }
        unsafe options.sent = { context, mark in
            unsafe ResponseStream.from(context).events.sent(mark)
        }
        unsafe options.draining = { context in
            let stream = unsafe ResponseStream.from(context)
            stream.events.draining(stream)
        }
        unsafe options.gone = { context, reason in
            let stream = unsafe ResponseStream.from(context)
            stream.events.gone(stream, End(reason))
        }
        unsafe options.release = { context in
            unsafe Unmanaged<ResponseStream>.fromOpaque(context.unsafelyUnwrapped).release()
        }
        let retained = unsafe Unmanaged.passRetained(made)
        unsafe options.context = retained.toOpaque()
        var response: OpaquePointer?
        unsafe made.stream = unsafe latchkey_http_stream_create(&options, &response)
        if unsafe made.stream == nil {
            unsafe retained.release()
            events.gone(made, .stopped)
        }
        return unsafe (made, response)
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> ResponseStream {
        unsafe Unmanaged.fromOpaque(context.unsafelyUnwrapped).takeUnretainedValue()
    }
}

extension ResponseStream.WriteResult {
    init(_ result: latchkey_http_write) {
        switch result {
        case LATCHKEY_HTTP_WRITE_ACCEPTED: self = .accepted
        case LATCHKEY_HTTP_WRITE_FULL: self = .full
        default: self = .gone
        }
    }
}

extension ResponseStream.End {
    init(_ reason: latchkey_http_stream_reason) {
        switch reason {
        case LATCHKEY_HTTP_STREAM_ENDED: self = .ended
        case LATCHKEY_HTTP_STREAM_CLIENT: self = .client
        case LATCHKEY_HTTP_STREAM_DEADLINE: self = .deadline
        default: self = .stopped
        }
    }
}

extension Exchange {
    /// Answers the request with a stream.
    ///
    /// The rules of ``respond(_:body:closes:fields:)`` hold here, too. To HEAD, only the head is
    /// sent, and the stream is over at once. Not at the head of a request.
    ///
    /// - Parameters:
    ///   - status: neither 204 nor 304.
    ///   - events: the events that the producer is told.
    ///   - bufferBytesMax: how many bytes are buffered at most.
    ///   - budget: is charged with the buffered bytes. At its limit, or at the client's share of
    ///     it, a piece is answered ``ResponseStream/WriteResult/full`` while there are others to
    ///     send. If there are none, one of up to 32 KiB is taken, and so is a ``StreamPiece`` that
    ///     another stream has; a longer one cuts the stream.
    ///   - isWhole: whether a part of the body is of no use. A server that stops then waits for the
    ///     end of the stream, as for a request, and cuts it off when its time is over.
    ///   - fields: adds the header fields. If one of them is not valid, the answer becomes a 500.
    /// - Returns: the stream, which the producer writes to and ends.
    @discardableResult
    package func respond(
        _ status: HTTPStatus,
        streaming events: ResponseStream.Events,
        bufferBytesMax: Int = ResponseStream.bufferBytesMax,
        budget: ClientBudget? = nil,
        isWhole: Bool = false,
        fields: (inout ResponseFields) -> Void = { _ in }
    ) -> ResponseStream {
        let (made, response) = unsafe ResponseStream.make(
            events,
            bufferBytesMax: bufferBytesMax,
            budget: budget,
            isWhole: isWhole
        )
        guard let response = unsafe response, let stream = unsafe made.stream else {
            unsafe latchkey_http_respond(request, 500, nil, true)
            return made
        }
        var collected = unsafe ResponseFields(request, .long(response))
        fields(&collected)
        collected.addSharing()
        if collected.areValid {
            unsafe latchkey_http_respond_stream(
                request,
                UInt32(status.rawValue),
                response,
                stream
            )
        } else {
            collected.discard()
            unsafe latchkey_http_respond(request, 500, nil, false)
        }
        return made
    }
}
