internal import LatchkeyFrame
internal import LatchkeyHTTP

/// The route that lists the watches.
struct WatchListRoutes: Sendable {
    private static let limitDefault = 100
    private static let limitMax = 1000

    let hub: WatchHub
    let watched: WatchedHistory

    func add(to table: inout RouteTable) {
        table.add(.get, "/v1/watches", .local, needs: .right(.admin), statuses: [200, 400, 503]) {
            request,
            _ throws(RequestFailure) in
            try list(request)
        }
    }

    private func list(_ request: ServiceRequest) throws(RequestFailure) {
        let query = try request.query(["after", "limit"])
        let limit = try ServiceRequest.limit(
            query["limit"],
            default: Self.limitDefault,
            max: Self.limitMax
        )
        guard let after = Int64(query["after"] ?? "0"), after >= 0, query["after"]?.first != "+"
        else {
            throw RequestFailure(.invalidQuery, "after must be the `next` of an earlier page.")
        }
        hub.list(after: UInt64(after), countMax: limit) { list in
            // The pump's thread has no time for the text.
            watched.later(for: request.client) { request.respond(json: list.json) }
        }
    }
}
