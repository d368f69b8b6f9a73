/// Finds the route of a request by method and path, on raw bytes and without allocation.
///
/// **Design.** The table of routes becomes a ``RouteTree`` once, at start, and nothing changes
/// afterwards, so that all threads share it without a lock. The handlers are in objects that live
/// as long as the router. They are called through unmanaged references: all threads would write to
/// the same reference counts for every request, which costs more than finding the route.
///
/// Segments are compared as they were sent. `/v1/%70roperties` is not `/v1/properties`, `//` has an
/// empty segment, which nothing matches, and `..` is a segment like any other.
///
/// A request with a body is decided twice. ``handleHead(_:)`` refuses a request that matches no
/// route at its head; its body is not asked for, or is read and discarded. Otherwise it notes the
/// route in the exchange, where ``handle(_:)`` finds it.
///
/// HEAD is answered by the route for GET. OPTIONS and methods without a route are answered by
/// `unmatched`, with the methods that the path has, or for `OPTIONS *` with those of all paths.
package final class Router: Sendable {
    package typealias UnmatchedHandler = @Sendable (Exchange, Unmatched) -> Void

    private final class Target: Sendable {
        let handle: Route.Handler
        let checkHead: Route.Handler?
        let servesRefused: Bool

        init(_ route: Route) {
            handle = route.handle
            checkHead = route.checkHead
            servesRefused = route.servesRefused
        }
    }

    package let routes: [Route]

    private let tree: RouteTree
    private let targets: [Target]
    private let hosts: AllowedHosts?
    private let origins: AllowedOrigins
    private let unmatched: UnmatchedHandler

    /// - Parameters:
    ///   - routes: at least one.
    ///   - hosts: the hosts that are served, or nil for any. A request that names none is served.
    ///   - origins: the origins whose pages may use the service besides its own.
    ///   - unmatched: called for requests that no route answers. Must answer them.
    /// - Throws: the fault of the table.
    package init(
        _ routes: [Route],
        hosts: AllowedHosts? = nil,
        origins: AllowedOrigins = AllowedOrigins(),
        unmatched: @escaping UnmatchedHandler
    ) throws(RouteTableError) {
        self.routes = routes
        self.hosts = hosts
        self.origins = origins
        self.unmatched = unmatched
        tree = try RouteTree(routes)
        targets = routes.map(Target.init)
    }

    /// The entry of the table for a method and a path.
    package enum Resolution: Equatable, Sendable {
        case route(Int, capture: Bytes)
        case notFound
        case methodNotAllowed(allow: String)
        case options(allow: String)
    }

    /// Calls the route's handler, or `unmatched`.
    package func handle(_ exchange: Exchange) {
        if let rejection = exchange.rejection {
            refuse(exchange, rejection)
            return
        }
        if let match = RouteMatch(note: exchange.note, exchange) ?? find(exchange) {
            unsafe Unmanaged.passUnretained(targets[match.route])._withUnsafeGuaranteedRef {
                $0.handle(exchange, match)
            }
        }
    }

    /// Answers the head of a request with a body if no route answers the request, or if the check
    /// of its route does.
    package func handleHead(_ exchange: Exchange) {
        guard let match = find(exchange) else { return }
        exchange.note = match.note(in: exchange.path)
        unsafe Unmanaged.passUnretained(targets[match.route])._withUnsafeGuaranteedRef {
            $0.checkHead?(exchange, match)
        }
    }

    /// Finds the route of a request, or answers it with `unmatched` and returns nil.
    private func find(_ exchange: Exchange) -> RouteMatch? {
        guard admits(exchange) else { return nil }
        let method = exchange.method
        switch resolve(method, exchange.path) {
        case .route(let index, let capture):
            return RouteMatch(route: index, method: method, capture: capture)
        case .notFound: unmatched(exchange, .notFound)
        case .methodNotAllowed(let allow): unmatched(exchange, .methodNotAllowed(allow: allow))
        case .options(let allow): unmatched(exchange, .options(allow: allow))
        }
        return nil
    }

    /// Whether the request is for a host that is served, and from a page that may send it; if not,
    /// it is answered here.
    @inline(__always)
    private func admits(_ exchange: Exchange) -> Bool {
        if let hosts, let authority = exchange.authority, !exchange.isAuthorityKept {
            guard hosts.contain(authority) else {
                unmatched(exchange, .misdirected)
                return false
            }
            exchange.keepAuthority()
        }
        guard origins.admit(exchange) else {
            unmatched(exchange, .crossSite)
            return false
        }
        return true
    }

    private func refuse(_ exchange: Exchange, _ rejection: Rejection) {
        // Otherwise an allowed page would see a network failure, and not that it must wait.
        origins.noteSharing(of: exchange)
        let method = exchange.method
        switch rejection {
        case .connections, .connectionsOfAddress:
            if case .route(let index, let capture) = resolve(method, exchange.path),
                targets[index].servesRefused
            {
                guard admits(exchange) else { return }
                let match = RouteMatch(route: index, method: method, capture: capture)
                targets[index].handle(exchange, match)
                return
            }
        default: break
        }
        unmatched(exchange, .rejected(rejection))
    }

    /// Looks up a method and a path.
    package func resolve(_ method: HTTPMethod, _ path: Bytes) -> Resolution {
        if method == .options, path.elementsEqual(CollectionOfOne(UInt8(ascii: "*"))) {
            return .options(allow: RouteNode.allow(hasRoute(for:)))
        }
        var capture = Bytes("")
        guard let node = tree.find(path, &capture) else { return .notFound }
        let route = tree.nodes[node].route(for: method)
        if route >= 0 { return .route(route, capture: capture) }
        let allow = tree.nodes[node].allow
        return method == .options ? .options(allow: allow) : .methodNotAllowed(allow: allow)
    }

    private func hasRoute(for method: HTTPMethod) -> Bool {
        tree.nodes.contains { $0.route(for: method) >= 0 }
    }
}
