/// What a server is started with, each bound under its name.
package struct HTTPServerConfiguration: Sendable {
    /// Which threads serve.
    package enum Threads: Sendable, Equatable {
        /// So many threads, each of which serves many connections. A handler that blocks keeps all
        /// of them waiting.
        case eventLoops(Int)
        case perConnection
    }

    package var host = "127.0.0.1"
    /// 0 is a free port.
    package var port: UInt16 = 0
    package var threads = Threads.eventLoops(2)
    /// How many connections the kernel keeps until they are accepted.
    package var listenBacklog = 1024
    package var connectionsMax = 1024
    /// 0 is no bound; IPv6 addresses count by their first 64 bits.
    package var connectionsPerAddressMax = 0
    /// Path and query.
    package var targetBytesMax = 4096
    /// Request line and header fields.
    package var headBytesMax = 8192
    package var bodyBytesMax = 1 << 20
    /// How long a connection may wait for a request, and the time over which the rate is measured
    /// at which a client takes its answer: at least 1 KiB a second.
    ///
    /// Zero is no bound. The precision is that of ``requestTimeout``.
    package var idleTimeout = Duration.seconds(60)
    /// How long a handler may take to answer after it has returned.
    ///
    /// The request is taken away then, as in ``HTTPServer/stop(within:)``. Zero is no bound. The
    /// precision is that of ``requestTimeout``.
    package var answerTimeout = Duration.seconds(60)
    /// How long a request may arrive, from its first byte to its last.
    ///
    /// Zero is no bound. It takes effect never early, and late by no more than half of the shorter
    /// of the two timeouts, and half a second at most.
    package var requestTimeout = Duration.seconds(30)

    /// The body of the 408 for a request that takes too long: a problem's JSON.
    ///
    /// At most 1024 bytes. The C side sends it by itself, because such a request never reaches the
    /// handler.
    package var timeoutBody = #"{"title":"Request Timeout","status":408}"#
    /// The same of the 413 for a body that goes on and on after it was refused.
    package var tooLargeBody = #"{"title":"Content Too Large","status":413}"#
    /// The same of the 400 for a length that is no number.
    package var malformedBody = #"{"title":"Bad Request","status":400}"#
    /// The same of the 431 for too many cookies.
    package var headTooLargeBody = #"{"title":"Request Header Fields Too Large","status":431}"#
    /// The same of the 503 for a request that was not handled, because the server stops.
    package var drainingBody = #"{"title":"Service Unavailable","status":503}"#
    /// The same of the 500 for a request that was taken away from its handler.
    package var unknownBody = #"{"title":"Internal Server Error","status":500}"#
    /// The same of the 503 for such a request whose method has no effect.
    package var lateBody = #"{"title":"Service Unavailable","status":503}"#

    package init() {}
}
