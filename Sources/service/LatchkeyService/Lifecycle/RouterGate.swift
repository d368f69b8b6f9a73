internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import Synchronization

/// The routes that the server uses now: those of a service that reads its data, then all.
///
/// **Design.** One atomic reference, which is exchanged once, while the server serves.
///
/// SAFETY: `@safe` and unmanaged, because all threads would write to a reference count for every
/// request. Routers are never freed: a service has two.
@safe
final class RouterGate: Sendable {
    private let current: Atomic<Unmanaged<Router>>

    /// Whether the disk is full, and decided writes wait for room.
    let isHeld: @Sendable () -> Bool

    /// - Parameters:
    ///   - router: The routes until ``open(_:)``.
    ///   - isHeld: Whether decided writes wait for room on the disk.
    init(_ router: Router, isHeld: @escaping @Sendable () -> Bool = { false }) {
        self.isHeld = isHeld
        unsafe current = Atomic(Unmanaged.passRetained(router))
    }

    /// Listens, and serves the routes of the gate.
    func listen(
        _ http: HTTPServerConfiguration,
        _ log: Log
    ) throws(StartFailure) -> HTTPServer {
        do {
            return try HTTPServer(
                http.withProblemBodies,
                log: { log.write(.warning, $0) },
                isHeld: isHeld,
                head: { self.handleHead($0) },
                handle: { self.handle($0) }
            )
        } catch {
            throw StartFailure(reason: error.description)
        }
    }

    /// The same for the clients of the service.
    func listen(
        _ http: HTTPServerConfiguration,
        in frame: ServiceFrame
    ) throws(StartFailure) -> HTTPServer {
        let server = try listen(http, frame.log)
        ConnectionMetrics.register(server, in: frame.registry)
        frame.bounds.add("max-connections", http.connectionsMax) { server.servedCount }
        frame.closing.at(.requests) { time, drained in
            let cutOff = server.stop(within: time)
            drained.requestCount = cutOff.requestCount
            drained.answerCount = cutOff.answerCount
        }
        return server
    }

    /// Uses these routes from now on.
    func open(_ router: Router) {
        // Releasing: pairs with the loads below.
        unsafe current.store(Unmanaged.passRetained(router), ordering: .releasing)
    }

    @inline(__always)
    func handle(_ exchange: Exchange) {
        unsafe current.load(ordering: .acquiring)._withUnsafeGuaranteedRef { $0.handle(exchange) }
    }

    @inline(__always)
    func handleHead(_ exchange: Exchange) {
        unsafe current.load(ordering: .acquiring)
            ._withUnsafeGuaranteedRef { $0.handleHead(exchange) }
    }
}
