import CLatchkeyHTTP
import Glibc
import LatchkeySettings

/// A server that listens and gives each request to one handler.
///
/// **Design.** The C server owns threads and connections. It is given one permanent handler, in a
/// box that this object retains until ``stop(within:)`` has returned, after which the C side calls
/// nothing any more. The handler is called on the server's threads, for several connections at
/// once. `CLatchkeyHTTP.h` lists the work of the C side.
///
/// SAFETY: `@safe` because the server's pointer stays inside, and is valid until stop, which the
/// caller calls last. `@unchecked Sendable` because the C functions may be called on any thread.
@safe
package final class HTTPServer: @unchecked Sendable {
    package typealias Handler = @Sendable (Exchange) -> Void
    package typealias Log = @Sendable (String) -> Void
    package typealias Holding = @Sendable () -> Bool

    private final class Callbacks: Sendable {
        let handle: Handler
        let head: Handler
        let log: Log
        let isHeld: Holding

        init(
            handle: @escaping Handler,
            head: @escaping Handler,
            log: @escaping Log,
            isHeld: @escaping Holding
        ) {
            self.handle = handle
            self.head = head
            self.log = log
            self.isHeld = isHeld
        }
    }

    private let callbacks: Callbacks
    private let server: OpaquePointer

    /// The version of libmicrohttpd that is linked.
    package static var libraryVersion: String {
        unsafe String(cString: latchkey_http_library_version())
    }

    /// The port that is listened on.
    package let port: UInt16

    /// Starts listening and serving.
    ///
    /// - Parameters:
    ///   - configuration: see there.
    ///   - log: called on any thread with a message about something unusual that a client or the
    ///     system did.
    ///   - isHeld: whether the work that a late request may have waited for is held up: then a
    ///     request without effect gets the `heldBody`. Must not block.
    ///   - head: called for each request with a body before any of the body is there. May answer
    ///     the request before it returns, with ``Exchange/respond(_:body:closes:fields:)``; then
    ///     `handle` is not called. A client that sent `Expect: 100-continue` is not asked for the
    ///     body, and its connection is closed; otherwise the body is read and discarded.
    ///   - handle: called for each request. Must answer it, then or later.
    /// - Throws: if the address cannot be listened on, the configuration is out of bounds, or the
    ///   library gives a wrong answer.
    package init(
        _ configuration: HTTPServerConfiguration,
        log: @escaping Log = { _ in },
        isHeld: @escaping Holding = { false },
        head: Handler? = nil,
        handle: @escaping Handler
    ) throws(HTTPServerError) {
        try HTTPServer.checkLibrary()
        var options = unsafe try HTTPServer.options(configuration)
        let callbacks = Callbacks(
            handle: handle,
            head: head ?? { _ in },
            log: log,
            isHeld: isHeld
        )
        unsafe options.context = Unmanaged.passUnretained(callbacks).toOpaque()
        unsafe options.handler = { context, request in
            // The box lives as long as the server, so its owners need not be counted here.
            unsafe Unmanaged<Callbacks>.fromOpaque(context.unsafelyUnwrapped)
                ._withUnsafeGuaranteedRef {
                    unsafe $0.handle(Exchange(request.unsafelyUnwrapped))
                }
        }
        if head != nil {
            unsafe options.head = { context, request in
                unsafe Unmanaged<Callbacks>.fromOpaque(context.unsafelyUnwrapped)
                    ._withUnsafeGuaranteedRef {
                        unsafe $0.head(Exchange(request.unsafelyUnwrapped))
                    }
            }
        }
        unsafe options.log = { context, message in
            let callbacks = unsafe Unmanaged<Callbacks>.fromOpaque(context.unsafelyUnwrapped)
            let text = unsafe String(cString: message.unsafelyUnwrapped)
            unsafe callbacks.takeUnretainedValue().log(text)
        }
        unsafe options.holding = { context in
            let callbacks = unsafe Unmanaged<Callbacks>.fromOpaque(context.unsafelyUnwrapped)
            return unsafe callbacks.takeUnretainedValue().isHeld()
        }
        let identity = unsafe try HTTPServer.identity(configuration)
        unsafe options.identity = identity
        var failure = unsafe latchkey_http_failure()
        let started = unsafe HTTPServer.start(configuration, &options, &failure)
        guard let server = unsafe started else {
            if let identity = unsafe identity { unsafe latchkey_http_identity_destroy(identity) }
            throw unsafe HTTPServerError(failure, configuration)
        }
        self.callbacks = callbacks
        unsafe self.server = server
        port = unsafe latchkey_http_port(server)
    }

    /// The fault of the library that was found, checked once for the process.
    private static let libraryFault: String? = {
        let capacity = 512
        return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: capacity) { reason in
            let start = unsafe reason.baseAddress.unsafelyUnwrapped
            return unsafe latchkey_http_check(start, capacity) ? nil : String(cString: start)
        }
    }()

    /// Checks that the libmicrohttpd of this machine answers some requests as it must.
    ///
    /// Takes some milliseconds, once for the process.
    ///
    /// - Throws: If an answer differs.
    package static func checkLibrary() throws(HTTPServerError) {
        if let libraryFault {
            throw HTTPServerError(
                code: .system,
                message: "The HTTP library of this machine is not as this program needs it: "
                    + "\(libraryFault). The versions of Debian 12 (0.9.75) and 13 (1.0.1) are.",
                cause: nil
            )
        }
    }

    /// Checks that a server could listen on the address of the configuration now.
    ///
    /// No client can connect meanwhile.
    ///
    /// - Parameter configuration: Only its host and its port are used.
    /// - Throws: The reason why it could not.
    package static func checkAddress(
        _ configuration: HTTPServerConfiguration
    ) throws(HTTPServerError) {
        try checkLibrary()
        var options = unsafe latchkey_http_options()
        var failure = unsafe latchkey_http_failure()
        unsafe options.port = configuration.port
        let canListen = unsafe configuration.host.withCString { host in
            unsafe options.host = unsafe host
            return unsafe latchkey_http_can_listen(&options, &failure)
        }
        guard canListen else { throw unsafe HTTPServerError(failure, configuration) }
    }

    /// Stops listening, waits for the requests in flight, and ends the server.
    ///
    /// Requests that have arrived are served; later ones are given to the handler as
    /// ``Rejection/draining``. Every answer closes its connection. The producers of streams are
    /// told.
    ///
    /// Blocks, at most for `limit` and a fraction of a second, unless a handler does not return.
    /// Requests that are unanswered then are taken away, and answers that come later are discarded.
    /// Such requests may still take effect: they get the 500 of `unknownBody`, unless their method
    /// has no effect. Streams are ended in order, and cut off after about a second if their clients
    /// do not read. Call it once, on a thread that is not the server's, as the last thing.
    ///
    /// - Returns: how many requests were unanswered, and how many answers were not sent to the end.
    @discardableResult
    package func stop(within limit: Duration) -> (requestCount: Int, answerCount: Int) {
        let cutOff = unsafe latchkey_http_stop(server, UInt32(clamping: limit.wholeMilliseconds))
        return (Int(cutOff.requests), Int(cutOff.answers))
    }

    /// Lets time pass for a server whose clock stands still.
    ///
    /// A timeout counts from when the server first looked at the thing that it limits.
    package func pass(_ time: Duration) {
        unsafe latchkey_http_pass(server, UInt32(clamping: time.wholeMilliseconds))
    }

    /// Shows another identity in all handshakes that begin from now on.
    ///
    /// Connections go on. Earlier sessions are not resumed. Only for a server that was started with
    /// an identity.
    ///
    /// - Throws: The fault of the identity. The former one stays.
    package func identify(_ identity: TLSIdentity) throws(TLSIdentityError) {
        unsafe latchkey_http_identify(server, try identity.made())
    }

    /// How many connections count against the limit: all but refused ones.
    package var servedCount: Int { Int(unsafe latchkey_http_served(server)) }

    /// Counts connections and what they do.
    ///
    /// Locks the list of connections meanwhile; requests are not delayed.
    package var statistics: HTTPServerStatistics {
        HTTPServerStatistics(unsafe latchkey_http_measure(server))
    }
}

extension HTTPServer {
    /// Lends the texts of the configuration for the call that copies them.
    private static func start(
        _ configuration: HTTPServerConfiguration,
        _ options: inout latchkey_http_options,
        _ failure: inout latchkey_http_failure
    ) -> OpaquePointer? {
        unsafe configuration.host.withCString { host in
            unsafe options.host = unsafe host
            let bodies = [
                configuration.timeoutBody, configuration.tooLargeBody, configuration.drainingBody,
                configuration.unknownBody, configuration.lateBody, configuration.heldBody,
            ]
            // One piece of memory for all, in which each ends with a NUL.
            let texts = bodies.map { Array($0.utf8CString) }
            let starts = texts.indices.map { texts[..<$0].joined().count }
            return unsafe Array(texts.joined()).withUnsafeBufferPointer { memory in
                let base = unsafe memory.baseAddress.unsafelyUnwrapped
                unsafe options.timeout_body = unsafe base + starts[0]
                unsafe options.too_large_body = unsafe base + starts[1]
                unsafe options.draining_body = unsafe base + starts[2]
                unsafe options.unknown_body = unsafe base + starts[3]
                unsafe options.late_body = unsafe base + starts[4]
                unsafe options.held_body = unsafe base + starts[5]
                let proxies = configuration.trustedProxies.compactMap { Network($0)?.network }
                return unsafe proxies.withUnsafeBufferPointer { proxies in
                    unsafe options.proxies = proxies.baseAddress
                    unsafe options.proxy_count = proxies.count
                    return unsafe latchkey_http_start(&options, &failure)
                }
            }
        }
    }

    private static func identity(
        _ configuration: HTTPServerConfiguration
    ) throws(HTTPServerError) -> OpaquePointer? {
        guard let identity = configuration.identity else { return nil }
        do {
            return unsafe try identity.made()
        } catch {
            throw HTTPServerError(code: .configuration, message: error.message, cause: nil)
        }
    }

    /// How many connections the kernel keeps until they are accepted.
    private static let listenBacklog: UInt32 = 1024

    /// The options of the C server, whose types have room for all values of the settings.
    private static func options(
        _ configuration: HTTPServerConfiguration
    ) throws(HTTPServerError) -> latchkey_http_options {
        do {
            try configuration.checkSettings()
        } catch {
            throw HTTPServerError(code: .configuration, message: error.message, cause: nil)
        }
        var options = unsafe latchkey_http_options()
        unsafe options.port = configuration.port
        unsafe options.listen_backlog = listenBacklog
        unsafe options.threads = UInt32(configuration.eventLoopCount)
        unsafe options.connections_max = UInt32(configuration.connectionsMax)
        unsafe options.connections_per_address_max = UInt32(
            configuration.connectionsPerAddressBound
        )
        unsafe options.target_bytes_max = UInt32(configuration.targetBytesMax)
        unsafe options.head_bytes_max = UInt32(configuration.headBytesMax)
        unsafe options.body_bytes_max = UInt64(configuration.bodyBytesMax)
        unsafe options.idle_milliseconds = UInt32(
            clamping: configuration.idleTimeout.wholeMilliseconds
        )
        unsafe options.request_milliseconds = UInt32(
            clamping: configuration.requestTimeout.wholeMilliseconds
        )
        unsafe options.answer_milliseconds = UInt32(
            clamping: configuration.answerTimeout.wholeMilliseconds
        )
        unsafe options.clock_stands = configuration.hasStandingClock
        return unsafe options
    }
}

extension HTTPServerError {
    fileprivate init(_ failure: latchkey_http_failure, _ configuration: HTTPServerConfiguration) {
        let call = unsafe String(cString: failure.call)
        let place = "\(configuration.host):\(configuration.port)"
        let number = unsafe failure.code
        let cause = Cause(call: call, number: number)
        switch (call, number) {
        case ("getaddrinfo", _):
            self.init(
                code: .addressUnknown,
                message: "\(configuration.host) has no address: give one of this machine",
                cause: cause
            )
        case ("bind", EADDRINUSE), ("bind", EADDRNOTAVAIL), ("listen", EADDRINUSE):
            self.init(
                code: .addressInUse,
                message: "\(place) cannot be listened on: give another host or port",
                cause: cause
            )
        case ("bind", EACCES):
            self.init(
                code: .accessDenied,
                message: "\(place) needs privileges: give a port above 1023",
                cause: cause
            )
        case ("getrlimit", EMFILE):
            self.init(
                code: .descriptors,
                message: "the process may not open as many files as the connections need: raise "
                    + "its limit (RLIMIT_NOFILE), or lower the number of connections",
                cause: cause
            )
        default:
            self.init(
                code: .system,
                message: "the server could not be started",
                cause: cause
            )
        }
    }
}
