internal import LatchkeyHTTP

/// The service's routes, with the series that each one is counted in.
struct RouteTable {
    /// What requests are answered that no route takes.
    private static let unmatchedStatuses: [UInt16] = [
        204, 400, 404, 405, 413, 414, 421, 429, 431, 501, 503,
    ]

    typealias Handler = @Sendable (Call, RouteMatch) throws(RequestFailure) -> Void

    let metrics: RequestMetrics
    private(set) var routes: [Route] = []

    init(metrics: RequestMetrics) {
        self.metrics = metrics
    }

    /// Adds a route, which answers with one of these statuses.
    mutating func add(
        _ method: HTTPMethod,
        _ pattern: String,
        statuses: [UInt16],
        servesRefused: Bool = false,
        handle: @escaping Handler
    ) {
        let series = metrics.series(method: method, route: pattern, statuses: statuses)
        let headSeries =
            method == .get
            ? metrics.series(method: .head, route: pattern, statuses: statuses) : series
        let route = Route(method, pattern, servesRefused: servesRefused) { exchange, match in
            let call = Call(exchange, match.method == .head ? headSeries : series)
            do throws(RequestFailure) {
                try handle(call, match)
            } catch {
                call.fail(error)
            }
        }
        routes.append(route)
    }

    /// The router, which answers what matches no route with a problem.
    ///
    /// Requests for other hosts than these are refused; nil stands for any.
    func router(hosts: AllowedHosts?) -> Router {
        let series = HTTPMethod.allCases.map { method in
            metrics.series(method: method, route: "none", statuses: Self.unmatchedStatuses)
        }
        let router = try? Router(routes, hosts: hosts) { exchange, unmatched in
            let call = Call(exchange, series[Int(exchange.method.rawValue)])
            switch unmatched {
            case .rejected(let rejection):
                call.fail(rejection.problem)
            case .misdirected:
                call.fail(.misdirectedRequest)
            case .notFound where exchange.path.first != UInt8(ascii: "/"):
                call.fail(.invalidTarget, detail: "The target is not a path.")
            case .notFound:
                call.fail(.noRoute)
            case .methodNotAllowed(let allow):
                call.fail(.methodNotAllowed) { $0.add("Allow", allow) }
            case .options(let allow):
                call.respond(.noContent) { $0.add("Allow", allow) }
            }
        }
        guard let router else {
            preconditionFailure("The service's table of routes is valid.")
        }
        return router
    }
}

extension Rejection {
    /// The problem that a request is answered with that must not be served.
    var problem: Problem {
        switch self {
        case .malformed: .malformedRequest
        case .transferCoding: .unsupportedTransferCoding
        case .targetTooLong: .targetTooLong
        case .headTooLarge: .headersTooLarge
        case .bodyTooLarge: .bodyTooLarge
        case .connections: .tooManyConnections
        case .connectionsOfAddress: .tooManyConnectionsPerAddress
        case .draining: .draining
        case .memory: .outOfMemory
        }
    }
}
