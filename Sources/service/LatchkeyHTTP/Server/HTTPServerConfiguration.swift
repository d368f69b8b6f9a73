import Foundation
package import LatchkeySettings

/// The choices that a server is started with.
package struct HTTPServerConfiguration: Sendable {
    package var host = "127.0.0.1"
    /// 0 is a free port.
    package var port: UInt16 = 8080
    /// With an identity, the server speaks TLS.
    package var identity: TLSIdentity?
    package var eventLoopCount = min(
        ProcessInfo.processInfo.activeProcessorCount,
        eventLoopCountMax
    )
    package var connectionsMax = 1024
    /// One client gets one Nth of the resources that all clients use, such as connections.
    package var clientShare = 4
    /// Nil is the client's share of the connections, and 0 is no limit.
    ///
    /// IPv6 addresses count by their first 64 bits.
    package var connectionsPerAddressMax: Int?
    /// Addresses and networks of proxies.
    ///
    /// They have no limit per address, and name their clients: see ``Exchange/client``.
    package var trustedProxies: [String] = []
    /// Path and query.
    package var targetBytesMax = 4096
    /// Request line and header fields.
    package var headBytesMax = 8192
    package var bodyBytesMax = 1 << 20
    /// How long a connection may wait for a request, and the time over which a client's rate of
    /// taking its answer is measured: at least 1 KiB a second.
    ///
    /// The precision is that of ``requestTimeout``.
    package var idleTimeout = Duration.seconds(60)
    /// How long a handler may take to answer after it has returned.
    ///
    /// The request is taken away then, as in ``HTTPServer/stop(within:)``. The precision is that of
    /// ``requestTimeout``.
    package var answerTimeout = Duration.seconds(60)
    /// How long a request may arrive, from its first byte to its last.
    ///
    /// It never takes effect early. It is late by at most half of the shorter of the two timeouts,
    /// and by at most half a second.
    package var requestTimeout = Duration.seconds(30)
    /// For tests: the clock of these timeouts stands still, and only ``HTTPServer/pass(_:)`` moves
    /// it.
    package var hasStandingClock = false

    /// The body of the 408 for a request that takes too long: a problem's JSON.
    ///
    /// At most 1024 bytes. The C side sends it, because such a request never reaches the handler.
    package var timeoutBody = #"{"title":"Request Timeout","status":408}"#
    /// The same for the 413 of a body that goes on after it was refused.
    package var tooLargeBody = #"{"title":"Content Too Large","status":413}"#
    /// The same for the 503 of a request that was not handled, because the server stops.
    package var drainingBody = #"{"title":"Service Unavailable","status":503}"#
    /// The same for the 500 of a request that was taken away from its handler.
    package var unknownBody = #"{"title":"Internal Server Error","status":500}"#
    /// The same for the 503 of such a request whose method has no effect.
    package var lateBody = #"{"title":"Service Unavailable","status":503}"#
    /// The same if the work that such a request may have waited for is held up.
    package var heldBody = #"{"title":"Service Unavailable","status":503}"#

    package init() {}

    private static let eventLoopCountMax = 256

    /// The share of one client, at least 1.
    package func share(of count: Int) -> Int { max(1, count / clientShare) }

    /// The limit per address that holds; 0 is none.
    package var connectionsPerAddressBound: Int {
        connectionsPerAddressMax ?? (clientShare == 1 ? 0 : share(of: connectionsMax))
    }
}

extension HTTPServerConfiguration: Configurable {
    package static let standard = Self()

    package static let settings: [Setting<Self>] = [
        .text(
            "host",
            \.host,
            placeholder: "ADDRESS",
            "The address to listen on, or a name for one. 0.0.0.0 or :: listens on all addresses."
        ),
        .integer("port", \.port, 0...65_535, "The port to listen on. 0 picks a free port."),
        .integer(
            "http-threads",
            \.eventLoopCount,
            1...eventLoopCountMax,
            default: "the number of cores",
            "The number of event-loop threads that serve the connections."
        ),
        .integer(
            "max-connections",
            \.connectionsMax,
            1...65_536,
            "The maximum number of connections. Further ones get status 503 and are closed."
        ),
        Setting(
            "client-share",
            .share(1...1024),
            \.clientShare,
            "The share of one client in connections, watches and long polls, exports, idempotency "
                + "keys and their memory, and unsent answers. Beyond it a client gets status 429. "
                + "1/1 is no limit.",
            text: { "1/\($0)" },
            value: { Int($0.dropFirst(2)) }
        ),
        Setting(
            "max-connections-per-address",
            .spelling(
                placeholder: "N",
                help: "a whole number from 0 to 65536, or share",
                isRight: { $0 == "share" || (Int($0).map((0...65_536).contains) ?? false) }
            ),
            \.connectionsPerAddressMax,
            "The maximum number of connections of one client; 0 is no limit. share is "
                + "--client-share of --max-connections. Further ones get status 429 and are "
                + "closed.",
            text: { $0.map(String.init) ?? "share" },
            value: { $0 == "share" ? .some(nil) : Int($0) }
        ),
        .texts(
            "trusted-proxy",
            \.trustedProxies,
            placeholder: "ADDRESS",
            of: "addresses or networks, such as 10.0.0.1 or 10.0.0.0/8",
            isRight: { Network($0) != nil },
            "Addresses and networks of proxies, or none. Their connections have no limit of "
                + "their own, and the client is the last address in X-Forwarded-For."
        ),
        .integer(
            "max-header-bytes",
            \.headBytesMax,
            1024...1_048_576,
            unit: .bytes,
            "The maximum length of the request line and all header fields of a request. Longer "
                + "ones get status 431."
        ),
        .integer(
            "max-body-bytes",
            \.bodyBytesMax,
            1...1_073_741_824,
            unit: .bytes,
            "The maximum length of a request's body. A longer one gets status 413."
        ),
        .seconds(
            "request-timeout-seconds",
            \.requestTimeout,
            1...86_400,
            "The maximum time for a request to arrive. A slower request gets status 408."
        ),
        .seconds(
            "answer-timeout-seconds",
            \.answerTimeout,
            1...86_400,
            "The maximum time for the answer to an accepted request. A write that takes longer "
                + "gets status 500 outcome-unknown, and a read 503."
        ),
        .seconds(
            "idle-timeout-seconds",
            \.idleTimeout,
            1...86_400,
            "The time after which a connection without a request is closed."
        ),
    ]
}
