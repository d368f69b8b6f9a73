/// Finds the route of a request by method and path, on raw bytes and without allocation.
///
/// **Design.** The table of routes becomes a tree of segments once, at start. A node is a literal
/// or the name in braces, and among the children of one node there is never one of each, so that
/// every path has one way down at most, and the first child that fits is the right one. The tree is
/// immutable and flat: nodes refer to each other by their index in one array.
///
/// Segments are compared as they were sent. `/v1/%70roperties` is not `/v1/properties`, `//` has an
/// empty segment, which nothing matches, and `..` is a segment like any other.
///
/// HEAD is answered by the route for GET. OPTIONS and methods without a route are answered by
/// `unmatched`, with the methods that the path has.
package final class Router: Sendable {
    package typealias UnmatchedHandler = @Sendable (Exchange, Unmatched) -> Void

    package let routes: [Route]

    private let nodes: [RouteNode]
    private let unmatched: UnmatchedHandler

    /// - Parameters:
    ///   - routes: at least one.
    ///   - unmatched: called for requests that no route answers. Must answer them.
    package init(
        _ routes: [Route],
        unmatched: @escaping UnmatchedHandler
    ) throws(RouteTableError) {
        self.routes = routes
        self.unmatched = unmatched
        nodes = try RouteNode.tree(of: routes)
    }

    /// Calls the route's handler, or `unmatched`.
    package func handle(_ exchange: Exchange) {
        if let rejection = exchange.rejection {
            unmatched(exchange, .rejected(rejection))
            return
        }
        let method = exchange.method
        var capture = Bytes("")
        guard let node = find(exchange.path, &capture) else {
            unmatched(exchange, .notFound)
            return
        }
        let route = nodes[node].route(for: method)
        if route >= 0 {
            routes[route].handle(
                exchange,
                RouteMatch(route: route, method: method, capture: capture)
            )
        } else if method == .options {
            unmatched(exchange, .options(allow: nodes[node].allow))
        } else {
            unmatched(exchange, .methodNotAllowed(allow: nodes[node].allow))
        }
    }

    /// The node that has routes for this path.
    private func find(_ path: Bytes, _ capture: inout Bytes) -> Int? {
        guard path.first == UInt8(ascii: "/") else { return nil }
        if path.count == 1 {
            return nodes[0].allow.isEmpty ? nil : 0
        }
        var node = 0
        var start = 1
        while start <= path.count {
            var end = start
            while end < path.count && path[end] != UInt8(ascii: "/") {
                end += 1
            }
            guard end > start else { return nil }
            let segment = path.range(start, end)
            guard let child = child(of: node, for: segment) else { return nil }
            if nodes[child].isCapture {
                capture = segment
            }
            node = child
            start = end + 1
        }
        return nodes[node].allow.isEmpty ? nil : node
    }

    private func child(of node: Int, for segment: Bytes) -> Int? {
        var index = nodes[node].firstChild
        while index != RouteNode.noChild {
            if nodes[index].matches(segment) { return index }
            index = nodes[index].nextSibling
        }
        return nil
    }
}
