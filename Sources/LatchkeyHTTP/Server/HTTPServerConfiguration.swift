/// What a server is started with. Every bound has its name here.
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
    /// 0 is no bound. IPv6 addresses count by their first 64 bits.
    package var connectionsPerAddressMax = 0
    /// Path and query.
    package var targetBytesMax = 4096
    /// Request line and header fields.
    package var headBytesMax = 8192
    package var bodyBytesMax = 1 << 20
    /// How long a connection may wait for a request, and a client may take nothing of its answer.
    /// Zero is no bound. The precision is that of ``requestTimeout``.
    package var idleTimeout = Duration.seconds(60)
    /// How long a request may arrive, from its first byte to its last. Zero is no bound. It takes
    /// effect never early, and late by no more than half of the shorter of the two timeouts, at
    /// most by a second.
    package var requestTimeout = Duration.seconds(30)

    package init() {}
}
