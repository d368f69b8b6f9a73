internal import CLatchkeyFetch
internal import Glibc
internal import LatchkeyMachine
internal import LatchkeySettings

/// A client's way to one service: requests with libcurl, which speaks TLS.
///
/// Every command that asks a service goes through here. The connection is kept from one request to
/// the next.
///
/// **Design.** Requests run on the calling thread, one after the other. C calls back on this
/// thread, with a ``Transfer`` that outlives the call.
///
/// SAFETY: `@safe` because only `send` and `stream` use the session, and `deinit` closes it once.
@safe
package final class ServiceConnection {
    /// Files in PEM.
    package struct Files: Sendable {
        /// The certificates of authorities; nil for those of the system.
        package var authorities: String?
        /// The certificate of the client.
        package var certificate: String?
        /// Its key; nil if it is in the file of the certificate.
        package var key: String?

        package init() {}
    }

    /// The scheme, the host and the port.
    package let origin: String
    let token: String
    private let files: Files
    private let verifies: Bool
    /// The maximum time of a request without a time of its own.
    package let timeLimit: Duration
    private let session: OpaquePointer?

    /// - Parameters:
    ///   - origin: The scheme, the host and the port.
    ///   - token: The bearer token; empty for none.
    ///   - files: The files of certificates.
    ///   - verifies: Whether the certificate of the service is verified.
    ///   - timeLimit: The maximum time of a request without a time of its own.
    package init(
        origin: String,
        token: String = "",
        files: Files = Files(),
        verifies: Bool = true,
        timeLimit: Duration
    ) {
        self.origin = origin
        self.token = token
        self.files = files
        self.verifies = verifies
        self.timeLimit = timeLimit
        unsafe session = latchkey_fetch_session_open()
    }

    deinit {
        unsafe latchkey_fetch_session_close(session)
    }

    /// Whether a token is sent.
    package var hasToken: Bool { !token.isEmpty }

    /// Sends a GET request, and returns the answer whatever its status is.
    package func get(_ path: String) throws(ConnectionFailure) -> ClientAnswer {
        try send(ClientRequest(.get, path))
    }

    /// Sends a request.
    ///
    /// Blocks, at most for the time of the request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - isCancelled: Asked at least every 50 milliseconds, on this thread; true ends the
    ///     request.
    /// - Returns: The answer, whatever its status is.
    /// - Throws: Why there is none.
    package func send(
        _ request: ClientRequest,
        isCancelled: () -> Bool = { false }
    ) throws(ConnectionFailure) -> ClientAnswer {
        try withoutActuallyEscaping(isCancelled) { isCancelled throws(ConnectionFailure) in
            try unsafe exchange(request, Transfer(isCancelled: isCancelled, take: nil))
        }
    }

    /// Sends a request whose answer comes piece by piece.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - type: The media type that is accepted; nil for any.
    ///   - isCancelled: As for ``send(_:isCancelled:)``.
    ///   - take: Gets the body of an answer with a status of 2xx and this type, on this thread;
    ///     false ends the request.
    /// - Returns: The answer, without the body that `take` has got.
    /// - Throws: Why there is none, or not all of it.
    package func stream(
        _ request: ClientRequest,
        type: String? = nil,
        isCancelled: () -> Bool = { false },
        take: (UnsafeRawBufferPointer) -> Bool
    ) throws(ConnectionFailure) -> ClientAnswer {
        try withoutActuallyEscaping(isCancelled) { isCancelled throws(ConnectionFailure) in
            try unsafe withoutActuallyEscaping(take) { take throws(ConnectionFailure) in
                let transfer = unsafe Transfer(isCancelled: isCancelled, take: take)
                return try exchange(request, transfer, takenType: type)
            }
        }
    }

    private func exchange(
        _ request: ClientRequest,
        _ transfer: Transfer,
        takenType: String? = nil
    ) throws(ConnectionFailure) -> ClientAnswer {
        defer { transfer.end() }
        let limit = request.timeLimit ?? timeLimit
        let start = BootTime.now
        var answer = unsafe latchkey_fetch_answer()
        unsafe withCall(request, takenType) { call in
            unsafe call.timeout_milliseconds = request.isStream ? 0 : limit.wholeMilliseconds
            unsafe call.silence_seconds = request.isStream ? ClientRequest.silenceSeconds : 0
            unsafe call.head_milliseconds = request.headLimit?.wholeMilliseconds ?? 0
            unsafe call.context = Unmanaged.passUnretained(transfer).toOpaque()
            unsafe call.is_cancelled = { unsafe Transfer.from($0).isCancelled() }
            if transfer.takes {
                unsafe call.take = { context, bytes, count in
                    unsafe Transfer.from(context)
                        .take(UnsafeRawBufferPointer(start: bytes, count: count))
                }
            }
            unsafe latchkey_fetch_send(&call, &answer)
        }
        defer { unsafe latchkey_fetch_answer_free(&answer) }
        guard unsafe answer.outcome == LATCHKEY_FETCH_ANSWERED else {
            let failure = unsafe ConnectionFailure(answer)
            guard unsafe answer.code == ConnectionFailure.unresolved, isUnresolvedForNow(start)
            else { throw failure }
            throw ConnectionFailure(.unconnected, failure.message)
        }
        return unsafe ClientAnswer(
            status: Int(answer.status),
            head: Array(UnsafeBufferPointer(start: answer.head, count: answer.head_count)),
            body: Array(UnsafeBufferPointer(start: answer.body, count: answer.body_count))
        )
    }

    /// Whether a name that was not found can be found later.
    ///
    /// libcurl does not say so: the name is looked up again.
    private func isUnresolvedForNow(_ start: UInt64) -> Bool {
        // An unreachable name server takes long. One that has no such name answers at once.
        guard BootTime.now - start < Self.lookUpNanosecondsMax else { return true }
        var found = unsafe latchkey_fetch_origin()
        guard unsafe latchkey_fetch_origin_of(origin, &found) else { return false }
        defer { unsafe latchkey_fetch_origin_free(&found) }
        var addresses: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(found.host, nil, nil, &addresses)
        if let addresses = unsafe addresses { unsafe freeaddrinfo(addresses) }
        return [0, EAI_AGAIN].contains(code)
    }

    private static let lookUpNanosecondsMax: UInt64 = 2_000_000_000

    /// Lends C everything that does not change while the request runs.
    private func withCall(
        _ request: ClientRequest,
        _ takenType: String?,
        _ body: (inout latchkey_fetch_request) -> Void
    ) {
        var call = unsafe latchkey_fetch_request()
        unsafe call.session = session
        unsafe call.body_bytes_max = request.answerByteCountMax
        unsafe call.skips_verification = !verifies
        if case .descriptor(let descriptor)? = request.body {
            unsafe call.streams_body = true
            unsafe call.body_descriptor = descriptor
        }
        var fields = request.fields
        if hasToken { fields.append("Authorization: Bearer \(token)") }
        let single = [
            request.method.rawValue, origin + request.target, files.authorities,
            files.certificate, files.key, takenType,
        ]
        let texts = CTexts(single + fields)
        unsafe call.method = texts[0]
        unsafe call.url = texts[1]
        unsafe call.authorities = texts[2]
        unsafe call.certificate = texts[3]
        unsafe call.key = texts[4]
        unsafe call.take_type = texts[5]
        unsafe texts.withList(from: single.count) { fields in
            unsafe call.fields = fields
            guard case .bytes(let bytes)? = request.body else {
                return unsafe body(&call)
            }
            // Empty bytes need not have an address.
            unsafe (bytes.isEmpty ? [0] : bytes).withUnsafeBufferPointer { buffer in
                unsafe call.body = buffer.baseAddress
                unsafe call.body_count = bytes.count
                unsafe body(&call)
            }
        }
    }
}

/// The target of C's callbacks while a request runs.
///
/// SAFETY: `@safe` because the bytes that it hands on are valid for the call.
@safe
private final class Transfer {
    private(set) var isCancelled: () -> Bool
    private var pieces: ((UnsafeRawBufferPointer) -> Bool)?

    init(isCancelled: @escaping () -> Bool, take: ((UnsafeRawBufferPointer) -> Bool)?) {
        self.isCancelled = isCancelled
        unsafe pieces = take
    }

    /// Whether the body is taken piece by piece.
    var takes: Bool { unsafe pieces != nil }

    func take(_ bytes: UnsafeRawBufferPointer) -> Bool { unsafe pieces?(bytes) ?? false }

    /// Releases the closures, which must not be kept.
    func end() {
        isCancelled = { false }
        unsafe pieces = nil
    }

    static func from(_ context: UnsafeMutableRawPointer?) -> Transfer {
        unsafe Unmanaged.fromOpaque(context.unsafelyUnwrapped).takeUnretainedValue()
    }
}

extension ServiceConnection: ClientTransport {
    package var now: UInt64 { BootTime.now }

    /// The longest time between two calls of `isCancelled`.
    private static let lookNanoseconds: UInt64 = 50_000_000

    package func pause(until time: UInt64, isCancelled: () -> Bool) {
        while !isCancelled() {
            let now = BootTime.now
            guard now < time else { return }
            usleep(UInt32(min(time - now, Self.lookNanoseconds) / 1000 + 1))
        }
    }
}

extension ConnectionFailure {
    /// CURLE_UNSUPPORTED_PROTOCOL, also of an answer without a status line, and
    /// CURLE_WEIRD_SERVER_REPLY.
    private static let noHTTP: [Int32] = [1, 8]
    /// CURLE_COULDNT_CONNECT.
    private static let unconnected: Int32 = 7
    /// CURLE_COULDNT_RESOLVE_HOST.
    fileprivate static let unresolved: Int32 = 6
    /// CURLE_COULDNT_RESOLVE_HOST, CURLE_SSL_CERTPROBLEM, CURLE_PEER_FAILED_VERIFICATION and
    /// CURLE_SSL_CACERT_BADFILE.
    private static let wrong: [Int32] = [6, 58, 60, 77]
    /// CURLE_PEER_FAILED_VERIFICATION.
    private static let unverified: Int32 = 60
    /// libcurl's words for a certificate whose authority is not known.
    private static let unknown = ["local issuer", "self-signed", "self signed"]
    /// CURLE_GOT_NOTHING.
    private static let empty: Int32 = 52
    /// CURLE_SSL_CONNECT_ERROR.
    private static let handshake: Int32 = 35
    /// libcurl's words for a handshake that was cut, or took too long.
    private static let cuts = ["reset", "eof", "EOF", "SSL_ERROR_SYSCALL", "closed", "timed out"]
    /// Its words for a service that does not accept the certificate of the client.
    private static let refusals = [
        "alert certificate", "alert bad certificate", "alert unknown ca",
    ]

    fileprivate init(_ answer: latchkey_fetch_answer) {
        let code = unsafe answer.code
        let reason =
            unsafe answer.reason.map { unsafe String(cString: $0) }
            ?? String(cString: latchkey_fetch_reason(code))
        let isRefused = Self.refusals.contains(where: reason.contains)
        let isCut = Self.cuts.contains(where: reason.contains)
        let isUnsent = unsafe answer.is_unsent
        let kind: Kind =
            switch unsafe answer.outcome {
            case LATCHKEY_FETCH_CANCELLED: .cancelled
            case _ where Self.wrong.contains(code) || isRefused: .wrong
            case _ where code == Self.handshake: isCut ? .unconnected : .wrong
            case _ where code == Self.unconnected: .unconnected
            case LATCHKEY_FETCH_TIMED_OUT: isUnsent ? .unconnected : .timedOut
            case LATCHKEY_FETCH_TOO_LARGE: .unusable
            case _ where Self.noHTTP.contains(code): .unusable
            default: isUnsent ? .unconnected : .broken
            }
        let message =
            switch unsafe answer.outcome {
            case LATCHKEY_FETCH_TIMED_OUT:
                isUnsent ? "no connection in time" : "no answer in time"
            case LATCHKEY_FETCH_TOO_LARGE: "the answer is too long"
            case _ where Self.noHTTP.contains(code): "the answer is not HTTP"
            default:
                [.unconnected, .wrong].contains(kind)
                    ? "no connection: \(reason)" : "no answer: \(reason)"
            }
        let hint: Hint? =
            switch code {
            case Self.unverified where Self.unknown.contains(where: reason.contains):
                .unknownAuthority
            case Self.unresolved, Self.unconnected: .address
            case _ where kind == .unconnected: .address
            case Self.handshake where !isCut && !isRefused: .noTLS
            case Self.empty: .tls
            case _ where Self.noHTTP.contains(code): .tls
            default: nil
            }
        self.init(kind, message, isUnsent: isUnsent || kind == .wrong, hint: hint)
    }
}
