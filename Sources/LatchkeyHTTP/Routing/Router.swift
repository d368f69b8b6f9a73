/// Finds the route of a request by method and path, on raw bytes and without allocation.
///
/// **Design.** The table of routes becomes a ``RouteTree`` once, at start, and nothing changes
/// afterwards, so that all threads share it without a lock. The handlers are in objects that the
/// router keeps for ever; they are called through unmanaged references, because counting owners of
/// something that every thread uses for every request is slower than finding it.
///
/// Segments are compared as they were sent. `/v1/%70roperties` is not `/v1/properties`, `//` has an
/// empty segment, which nothing matches, and `..` is a segment like any other.
///
/// HEAD is answered by the route for GET. OPTIONS and methods without a route are answered by
/// `unmatched`, with the methods that the path has.
package final class Router: Sendable {
    package typealias UnmatchedHandler = @Sendable (Exchange, Unmatched) -> Void

    private final class Target: Sendable {
        let handle: Route.Handler

        init(_ handle: @escaping Route.Handler) {
            self.handle = handle
        }
    }

    package let routes: [Route]

    private let tree: RouteTree
    private let targets: [Target]
    private let unmatched: UnmatchedHandler

    /// - Parameters:
    ///   - routes: at least one.
    ///   - unmatched: called for requests that no route answers. Must answer them.
    /// - Throws: what is wrong with the table.
    package init(
        _ routes: [Route],
        unmatched: @escaping UnmatchedHandler
    ) throws(RouteTableError) {
        self.routes = routes
        self.unmatched = unmatched
        tree = try RouteTree(routes)
        targets = routes.map { Target($0.handle) }
    }

    /// What the table says about a method and a path.
    package enum Resolution: Equatable, Sendable {
        case route(Int, capture: Bytes)
        case notFound
        case methodNotAllowed(allow: String)
        case options(allow: String)
    }

    /// Calls the route's handler, or `unmatched`.
    package func handle(_ exchange: Exchange) {
        if let rejection = exchange.rejection {
            unmatched(exchange, .rejected(rejection))
            return
        }
        let method = exchange.method
        switch resolve(method, exchange.path) {
        case .route(let index, let capture):
            let match = RouteMatch(route: index, method: method, capture: capture)
            unsafe Unmanaged.passUnretained(targets[index])._withUnsafeGuaranteedRef {
                $0.handle(exchange, match)
            }
        case .notFound: unmatched(exchange, .notFound)
        case .methodNotAllowed(let allow): unmatched(exchange, .methodNotAllowed(allow: allow))
        case .options(let allow): unmatched(exchange, .options(allow: allow))
        }
    }

    /// Looks a method and a path up.
    package func resolve(_ method: HTTPMethod, _ path: Bytes) -> Resolution {
        var capture = Bytes("")
        guard let node = tree.find(path, &capture) else { return .notFound }
        let route = tree.nodes[node].route(for: method)
        if route >= 0 { return .route(route, capture: capture) }
        let allow = tree.nodes[node].allow
        return method == .options ? .options(allow: allow) : .methodNotAllowed(allow: allow)
    }
}
