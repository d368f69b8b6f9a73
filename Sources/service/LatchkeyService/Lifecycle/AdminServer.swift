internal import LatchkeyFrame
internal import LatchkeyHTTP

/// A second port, with connections of its own, for probes, monitoring, the overview and profiles.
///
/// Clients of the first port cannot take its connections, and a firewall can keep them away from
/// it. It serves while the data is read and while the service drains.
struct AdminServer: Sendable {
    /// The routes of the service that it serves.
    static let patterns: Set = [
        "/healthz", "/readyz", "/metrics", "/version", "/debug/pprof/mutex", "/v1/strategies",
        "/v1/strategy", "/v1/contention", "/v1/contention/reset", "/v1/overview", "/v1/watches",
        "/v1/cluster",
    ]
    private static let connectionCountMax = 64
    private static let stopTime = Duration.milliseconds(100)

    private let gate: RouterGate
    private let server: HTTPServer

    /// - Parameters:
    ///   - http: The choices for the first port.
    ///   - port: 0 is a free one.
    ///   - router: The routes until ``open(_:)``.
    ///   - frame: The frame of the service.
    /// - Throws: ``StartFailure`` if it cannot listen.
    init(
        _ http: HTTPServerConfiguration,
        port: UInt16,
        _ router: Router,
        in frame: ServiceFrame
    ) throws(StartFailure) {
        gate = RouterGate(router)
        server = try gate.listen(Self.configuration(http, port: port), frame.log)
        frame.closing.at(.probes) { [self] in stop() }
        frame.log.write(.info, "serving admin", ["port": "\(server.port)"])
    }

    static func configuration(
        _ http: HTTPServerConfiguration,
        port: UInt16
    ) -> HTTPServerConfiguration {
        var http = http
        http.port = port
        http.eventLoopCount = 1
        http.connectionsMax = connectionCountMax
        http.connectionsPerAddressMax = nil
        return http
    }

    /// The port that it listens on.
    var port: UInt16 { server.port }

    /// Shows another certificate from now on.
    func identify(_ identity: TLSIdentity) throws(TLSIdentityError) {
        try server.identify(identity)
    }

    func open(_ router: Router) {
        gate.open(router)
    }

    /// Stops listening.
    ///
    /// Answers that are being sent have a moment.
    func stop() {
        server.stop(within: Self.stopTime)
    }
}
