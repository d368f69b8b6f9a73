internal import LatchkeyFrame
internal import LatchkeyHTTP

/// The route of the overview.
struct OverviewRoutes: Sendable {
    let overview: Overview

    func add(to table: inout RouteTable) {
        table.add(.get, "/v1/overview", .local, needs: .token, statuses: [200, 400]) {
            request,
            _ throws(RequestFailure) in
            try request.noQuery()
            guard let json = try? overview.answer(to: request.caller).json() else {
                preconditionFailure("Numbers and names can be written as JSON.")
            }
            // Its length is limited, and it is needed most when a service has no room.
            request.respond(.ok, body: .bytes(Array(json)), bound: .none) { answer in
                answer.add("Content-Type", "application/json")
            }
        }
    }
}
