package import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyJSON

/// The route that makes a replica a leader.
package struct PromoteRoute: Sendable {
    /// Nil if the service was not started to follow another one.
    private let follower: Follower?
    private let removesWhatExpires: @Sendable () -> Void

    /// - Parameters:
    ///   - follower: Nil if the service was not started to follow another one.
    ///   - removesWhatExpires: Called once, when the service is a leader: from then on it removes
    ///     what expires.
    package init(_ follower: Follower?, removesWhatExpires: @escaping @Sendable () -> Void) {
        (self.follower, self.removesWhatExpires) = (follower, removesWhatExpires)
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
                removesWhatExpires()
                var json = JSONWriter()
                json.object { $0.member("revision", revision) }
                request.respond(json: json)
            }
        }
    }
}
