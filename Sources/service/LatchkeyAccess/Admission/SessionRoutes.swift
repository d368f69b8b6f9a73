package import LatchkeyFrame
internal import LatchkeyHTTP

/// The route that turns a token into a cookie, for pages in a browser.
package struct SessionRoutes: Sendable {
    /// Nil if the service asks for no tokens.
    private let access: AccessControl?

    package init(access: AccessControl?) {
        self.access = access
    }

    package func add(to table: inout RouteTable) {
        table.add(.post, "/v1/session", .local, needs: .nothing, statuses: [204, 400, 401]) {
            request,
            _ throws(RequestFailure) in
            try request.noQuery()
            guard let access else {
                return request.respond(.noContent)
            }
            // Not for a cookie: a stolen one could be renewed without end.
            let identification = access.caller(ofHeader: request.exchange)
            guard case .caller(_, let digest?) = identification else {
                return request.fail(identification)
            }
            request.respond(.noContent) {
                let isSecure = request.exchange.isOfSecurePage
                $0.add("Set-Cookie", text: access.cookie(for: digest, isSecure: isSecure))
            }
        }
        table.add(.delete, "/v1/session", .local, needs: .nothing, statuses: [204, 400]) {
            request,
            _ throws(RequestFailure) in
            try request.noQuery()
            request.respond(.noContent) {
                if let access { $0.add("Set-Cookie", text: access.cookieRemoval) }
            }
        }
    }
}
