package import LatchkeyHTTP

/// The handler of a route's requests, and the checks before it.
package struct RouteHandler: Sendable {
    package typealias Handle =
        @Sendable (
            ServiceRequest, RouteMatch
        ) throws(RequestFailure) -> Void

    package let need: RouteNeed
    /// Whether requests are refused on a connection over its client's share, and count for its
    /// rate.
    package let isShared: Bool
    /// Whether the route itself checks heads.
    package let checksHead: Bool
    private let handle: Handle

    package init(_ handle: @escaping Handle, need: RouteNeed, isShared: Bool, checksHead: Bool) {
        self.handle = handle
        self.need = need
        self.isShared = isShared
        self.checksHead = checksHead
    }

    /// Calls the handler, and answers with the error that it throws.
    package func run(_ request: ServiceRequest, _ match: RouteMatch) {
        Self.run(handle, request, match)
    }

    @inline(__always)
    package static func run(_ handle: Handle, _ request: ServiceRequest, _ match: RouteMatch) {
        do throws(RequestFailure) {
            try handle(request, match)
        } catch {
            request.fail(error)
        }
    }
}
