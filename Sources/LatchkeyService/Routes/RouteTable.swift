internal import LatchkeyHTTP

/// The routes of the service, each with its counters.
struct RouteTable {
    /// Statuses sent when no route matches.
    private static let unmatchedStatuses: [UInt16] = [
        204, 400, 403, 404, 405, 413, 414, 421, 429, 431, 501, 503,
    ]

    typealias Handler = @Sendable (ServiceRequest, RouteMatch) throws(RequestFailure) -> Void

    /// Statuses that a repeatable route sends by itself.
    private static let repeatableStatuses: [UInt16] = [400, 422, 429, 503]
    /// Statuses that a route sends by itself which reads the store.
    private static let readingStatuses: [UInt16] = [400, 429, 503]

    let metrics: RequestMetrics
    let admission: Admission
    /// Nil if `Idempotency-Key` is switched off.
    let repetition: Repetition?
    /// Nil before there is a store.
    var reads: FreshReads?
    private(set) var routes: [Route] = []
    /// For requests that match no route, by method.
    private let unmatched: [RequestSeries]

    init(
        metrics: RequestMetrics,
        admission: Admission = Admission(),
        repetition: Repetition? = nil
    ) {
        self.metrics = metrics
        self.admission = admission
        self.repetition = repetition
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
    ///   - method: Of the requests.
    ///   - pattern: Of their paths.
    ///   - need: What is asked of those who use it, at the head of a request with a body, too.
    ///   - statuses: The statuses that have a counter of their own.
    ///   - servesRefused: Whether it also answers on connections over a bound.
    ///   - isRepeatable: Whether clients can repeat a request with an `Idempotency-Key`. For all
    ///     routes that change state. The answer must be made with ``ServiceRequest``, and must not
    ///     be a stream.
    ///   - isLocal: Whether it changes no state that a replica has from its leader.
    ///   - readsStore: Whether its `GET` reads the store, so that clients can say how new the state
    ///     must be. The handler must ask for the query with ``ServiceRequest/query(_:)``.
    ///   - checkHead: Called at the head of a request with a body, before `handle`; may give the
    ///     body a reader.
    ///   - handle: Answers the request.
    mutating func add(
        _ method: HTTPMethod,
        _ pattern: String,
        needs need: RouteNeed,
        statuses: [UInt16],
        servesRefused: Bool = false,
        isRepeatable: Bool = false,
        isLocal: Bool = false,
        readsStore: Bool = false,
        checkHead: Handler? = nil,
        handle: @escaping Handler
    ) {
        precondition(!isRepeatable || need.fitsRepeats, "It says what is asked of a repeat.")
        let (repetition, admission) = (isRepeatable ? repetition : nil, admission)
        let handler = Repetition.Handler(handle: handle, need: need)
        let reads = readsStore ? reads : nil
        let changes = method != .get
        let follow = changes && !isLocal ? metrics.follow : nil
        let statuses = Set(statuses).union(admission.statuses)
            .union(isRepeatable ? Self.repeatableStatuses : [])
            .union(readsStore ? Self.readingStatuses : [])
            .union(metrics.follow != nil && (follow != nil || readsStore) ? [421] : [])
            .sorted()
        let series = metrics.series(
            method: method,
            route: pattern,
            statuses: statuses,
            changes: changes
        )
        let headSeries =
            changes
            ? series
            : metrics.series(method: .head, route: pattern, statuses: statuses, changes: false)
        // Known now, so that a service that asks for nothing pays for no question.
        let (isOpen, unknown, isShared) = (admission.isOpen, admission.unknown, !servesRefused)
        var check: Route.Handler?
        if checkHead != nil || !isOpen {
            check = { exchange, match in
                var request = ServiceRequest(exchange, series, unknown)
                // Others are counted when their body is there, and can wait.
                let counts = checkHead != nil
                guard
                    isOpen || admission.admits(&request, need, counts: counts, isShared: isShared),
                    follow?.refuses(request) != true,
                    let checkHead
                else { return }
                Self.run(checkHead, request, match)
            }
        }
        let route = Route(
            method,
            pattern,
            servesRefused: servesRefused,
            checkHead: check
        ) { exchange, match in
            let series = match.method == .head ? headSeries : series
            var request = ServiceRequest(exchange, series, unknown)
            // Who reads a body piece by piece was admitted with its head, and says what it did.
            if !isOpen, exchange.bodyReader == nil {
                let counts = isShared && (checkHead == nil || !exchange.hasPassedHead)
                guard admission.admits(&request, need, counts: counts, isShared: isShared)
                else { return }
            }
            if follow?.refuses(request) == true { return }
            if let repetition, repetition.handles(request, match, handler) { return }
            if let reads, reads.handles(request, match, handle) { return }
            Self.run(handle, request, match)
        }
        routes.append(route)
    }

    /// Calls a handler, and answers with the error that it throws.
    @inline(__always)
    static func run(_ handle: Handler, _ request: ServiceRequest, _ match: RouteMatch) {
        do throws(RequestFailure) {
            try handle(request, match)
        } catch {
            request.fail(error)
        }
    }

    /// The router, which answers requests that match no route with a problem.
    ///
    /// Requests for other hosts than `hosts` are refused; nil allows all hosts. Requests of pages
    /// of other origins than the service's own and `origins` are refused.
    ///
    /// While the service recovers, requests that match none of these routes get 503.
    ///
    /// With `patterns`, only the routes with these are served.
    func router(
        hosts: AllowedHosts?,
        origins: AllowedOrigins = AllowedOrigins(),
        isRecovering: Bool = false,
        only patterns: Set<String>? = nil
    ) -> Router {
        let (series, admission) = (unmatched, admission)
        let routes = routes.filter { patterns?.contains($0.pattern) ?? true }
        let names = NamePath(routes)
        let router = try? Router(routes, hosts: hosts, origins: origins) { exchange, unmatched in
            let request = ServiceRequest(
                exchange,
                series[Int(exchange.method.rawValue)],
                admission.unknown
            )
            guard !admission.refusesRate(of: request, unmatched) else { return }
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
                request.fail(.methodNotAllowed) { $0.add("Allow", text: allow) }
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
