package import LatchkeyHTTP

/// The routes of the service, each with its counters.
package struct RouteTable {
    /// Statuses sent when no route matches.
    private static let unmatchedStatuses: [UInt16] = [
        204, 400, 403, 404, 405, 413, 414, 421, 429, 431, 501, 503,
    ]

    package let metrics: RequestMetrics
    /// The steps of routes that are added from now on.
    package var steps: RouteSteps
    package private(set) var routes: [Route] = []
    /// For requests that match no route, by method.
    private let unmatched: [RequestSeries]

    package init(metrics: RequestMetrics, steps: RouteSteps = RouteSteps()) {
        self.metrics = metrics
        self.steps = steps
        unmatched = HTTPMethod.allCases.map { method in
            metrics.series(
                method: method,
                route: "none",
                statuses: Self.unmatchedStatuses,
                changes: false
            )
        }
    }

    /// Adds a route, whose handler sends these statuses.
    ///
    /// - Parameters:
    ///   - method: The method of the requests.
    ///   - pattern: The pattern of their paths.
    ///   - kind: Names the steps before the handler.
    ///   - need: The right that the route requires, at the head of a request with a body, too.
    ///   - statuses: The statuses that have a counter of their own.
    ///   - checkHead: Called at the head of a request with a body, before `handle`; may give the
    ///     body a reader.
    ///   - handle: Answers the request.
    package mutating func add(
        _ method: HTTPMethod,
        _ pattern: String,
        _ kind: RouteKind,
        needs need: RouteNeed,
        statuses: [UInt16],
        checkHead: RouteHandler.Handle? = nil,
        handle: @escaping RouteHandler.Handle
    ) {
        precondition(kind != .change || need.fitsRepeats, "It says what is asked of a repeat.")
        let atHead = steps.of(kind, at: .head)
        let atRequest = steps.of(kind, at: .request)
        let statuses = Set(statuses + kind.statuses + (atHead + atRequest).flatMap(\.statuses))
            .sorted()
        let changes = method != .get && kind != .read
        let series = metrics.series(
            method: method,
            route: pattern,
            statuses: statuses,
            changes: changes,
            isRead: kind == .read
        )
        let headSeries =
            method != .get
            ? series
            : metrics.series(
                method: .head,
                route: pattern,
                statuses: statuses,
                changes: false,
                isRead: kind == .read
            )
        let route = RouteHandler(
            handle,
            need: need,
            isShared: kind != .probe,
            checksHead: checkHead != nil
        )
        let unknown = steps.unknown
        var check: Route.Handler?
        if checkHead != nil || !atHead.isEmpty {
            let run = Self.way(atHead, route, to: checkHead)
            check = { exchange, match in
                var request = ServiceRequest(exchange, series, unknown)
                run(&request, match)
            }
        }
        let run = Self.way(atRequest, route, to: handle)
        routes.append(
            Route(
                method,
                pattern,
                servesRefused: kind == .probe,
                checkHead: check
            ) { exchange, match in
                let series = match.method == .head ? headSeries : series
                var request = ServiceRequest(exchange, series, unknown)
                run(&request, match)
            }
        )
    }

    private typealias Way = @Sendable (inout ServiceRequest, RouteMatch) -> Void

    /// Takes a request through the steps to its handler.
    ///
    /// The list is read once, so that a service without steps pays nothing.
    private static func way(
        _ steps: [any RequestStep],
        _ route: RouteHandler,
        to handle: RouteHandler.Handle?
    ) -> Way {
        var way: Way = { _, _ in }
        if let handle { way = { RouteHandler.run(handle, $0, $1) } }
        for step in steps.reversed() {
            way = { [next = way] request, match in
                guard !step.takes(&request, match, route) else { return }
                next(&request, match)
            }
        }
        return way
    }

    /// The router, which answers requests that match no route with a problem.
    ///
    /// Requests for other hosts than `hosts` are refused; nil allows all hosts. Requests of pages
    /// of other origins than the service's own and `origins` are refused.
    ///
    /// While the service recovers, requests that match none of these routes get 503.
    ///
    /// With `patterns`, only the routes with these are served.
    package func router(
        hosts: AllowedHosts?,
        origins: AllowedOrigins = AllowedOrigins(),
        isRecovering: Bool = false,
        only patterns: Set<String>? = nil
    ) -> Router {
        let (series, unknown) = (unmatched, steps.unknown)
        let refuses = steps.refusesUnmatched
        let routes = routes.filter { patterns?.contains($0.pattern) ?? true }
        let names = NamePath(routes)
        let router = try? Router(routes, hosts: hosts, origins: origins) { exchange, unmatched in
            let request = ServiceRequest(
                exchange,
                series[Int(exchange.method.rawValue)],
                unknown
            )
            // A rejection by the server is answered with its own problem.
            if case .rejected = unmatched {} else if refuses?(request) == true { return }
            switch unmatched {
            case .notFound where isRecovering, .methodNotAllowed where isRecovering:
                request.fail(.recovering)
            case .rejected(let rejection):
                request.fail(rejection.problem)
            case .misdirected:
                request.fail(.misdirectedRequest)
            case .crossSite:
                request.fail(.crossSiteRequest)
            case .notFound where exchange.path.first != UInt8(ascii: "/"):
                request.fail(.invalidTarget, detail: "The target is not a path.")
            case .notFound:
                let correction = names.correction(exchange.method, exchange.path)
                request.fail(.noRoute, detail: correction)
            case .methodNotAllowed(let allow):
                let advice = names.advice(exchange.method, exchange.path, allow)
                request.fail(.methodNotAllowed, detail: advice) { $0.add("Allow", text: allow) }
            case .options(let allow):
                request.respond(.noContent) { answer in
                    answer.add("Allow", text: allow)
                    if request.takesPatches(allow) { answer.addAcceptPatch() }
                    if exchange.isShared {
                        answer.allowPreflight(methods: allow)
                    }
                }
            }
        }
        guard let router else {
            preconditionFailure("The service's table of routes is valid.")
        }
        return router
    }
}

extension ServiceRequest {
    /// Whether the path, which is not `*`, has a route for patches.
    fileprivate func takesPatches(_ allow: String) -> Bool {
        exchange.path.first == UInt8(ascii: "/") && allow.contains("PATCH")
    }
}

extension ResponseFields {
    /// Answers the question of a browser before it sends a request for a page of an allowed origin
    /// (Fetch standard, section 3.2.2).
    fileprivate mutating func allowPreflight(methods: String) {
        add("Access-Control-Allow-Methods", text: methods)
        add(
            "Access-Control-Allow-Headers",
            """
            Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, Last-Event-ID, \
            Cache-Control
            """
        )
        add("Access-Control-Max-Age", "600")
    }
}

extension Rejection {
    /// The problem for a request that was rejected.
    package var problem: Problem {
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
