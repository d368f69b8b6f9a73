internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyJSON
internal import LatchkeyStore

/// The route that makes a replica a leader.
struct PromoteRoute: Sendable {
    /// Nil if the service was not started to follow another one.
    let promote: (@Sendable (@escaping @Sendable (Revision?) -> Void) -> Void)?

    func add(to table: inout RouteTable) {
        table.add(
            .post,
            "/v1/promote",
            .local,
            needs: .right(.admin),
            statuses: [200, 400, 409]
        ) { request, _ throws(RequestFailure) in
            try request.noQuery()
            guard let promote else { throw RequestFailure(.notFollowing) }
            promote { revision in
                guard let revision else { return request.fail(.notFollowing) }
                var json = JSONWriter()
                json.object { $0.member("revision", revision) }
                request.respond(json: json)
            }
        }
    }
}
