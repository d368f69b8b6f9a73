package import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyJSON
package import LatchkeyStore

/// The route that makes a replica a leader.
package struct PromoteRoute: Sendable {
    /// Nil if the service was not started to follow another one.
    private let follower: Follower?
    private let expiries: ExpiryQueue

    package init(_ follower: Follower?, _ expiries: ExpiryQueue) {
        (self.follower, self.expiries) = (follower, expiries)
    }

    package func add(to table: inout RouteTable) {
        table.add(
            .post,
            "/v1/promote",
            .local,
            needs: .right(.admin),
            statuses: [200, 400, 409]
        ) { request, _ throws(RequestFailure) in
            try request.noQuery()
            guard let follower else { throw RequestFailure(.notFollowing) }
            follower.promote { revision in
                guard let revision else { return request.fail(.notFollowing) }
                // They came by no commit of this service. From now on it removes what expires.
                expiries.rebuild()
                var json = JSONWriter()
                json.object { $0.member("revision", revision) }
                request.respond(json: json)
            }
        }
    }
}
