internal import CLatchkeyPages
internal import Foundation
internal import LatchkeyContention
internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyJSON
internal import LatchkeyMachine
internal import LatchkeyMetrics
internal import LatchkeyStore

/// The routes for people, probes and monitoring, which do not use the store.
struct OperatingRoutes: Sendable {
    let meters: ContentionMeters
    let profiles: ProfileRoutes
    let registry: MetricRegistry
    let context: Fingerprint.Context
    let readiness: Readiness
    let program: ProgramVersion

    /// Adds all but the probes.
    func add(to table: inout RouteTable) {
        profiles.add(to: &table)
        let dashboard = Dashboard(version: context.version)
        let page = FixedPage(Self.html, dashboard.html)
        Self.add("/", needs: .nothing, to: &table) { request, _ throws(RequestFailure) in
            try request.respond(page) {
                $0.add("Content-Security-Policy", text: dashboard.policy)
                $0.add("Referrer-Policy", "no-referrer")
            }
        }
        table.add(.get, "/v1/contention", .local, needs: .token, statuses: [200, 400]) {
            request,
            _ throws(RequestFailure) in
            try contention(request)
        }
        table.add(
            .post,
            "/v1/contention/reset",
            .local,
            needs: .right(.admin),
            statuses: [204, 400]
        ) {
            request,
            _ throws(RequestFailure) in
            try request.noQuery()
            meters.reset()
            request.respond(.noContent)
        }
        // It reveals known faults of the libraries. So it asks for a token like other routes,
        // unless the operator opens it.
        let version = FixedPage("application/json", program.json)
        Self.add("/version", needs: .tokenUnless(.version), to: &table) {
            request,
            _ throws(RequestFailure) in
            try request.respond(version)
        }
        let contract = FixedPage("application/yaml", unsafe latchkey_pages_contract().bytes)
        Self.add("/openapi.yaml", needs: .nothing, to: &table) {
            request,
            _ throws(RequestFailure) in
            try request.respond(contract)
        }
        Self.add("/problems/{problem}", needs: .nothing, statuses: [404], to: &table) {
            request,
            match throws(RequestFailure) in
            let name = String(decoding: match.capture, as: UTF8.self)
            guard let problem = Problem(rawValue: name) else {
                throw RequestFailure(.noRoute)
            }
            try request.respond(FixedPage(Self.html, Array(HTMLPages.problem(problem).utf8)))
        }
    }

    private static let html: StaticString = "text/html; charset=utf-8"

    /// Adds a route of fixed pages, which takes no query.
    private static func add(
        _ pattern: String,
        needs need: RouteNeed,
        statuses: [UInt16] = [],
        to table: inout RouteTable,
        handle: @escaping RouteHandler.Handle
    ) {
        table.add(.get, pattern, .local, needs: need, statuses: [200, 304, 400, 412] + statuses) {
            request,
            match throws(RequestFailure) in
            try request.noQuery()
            try handle(request, match)
        }
    }

    /// Probes and metrics, which are also served over a limit of connections.
    ///
    /// A failed probe can restart the service, and the metrics say why there is no place.
    func addProbes(to table: inout RouteTable) {
        table.add(
            .get,
            "/metrics",
            .probe,
            needs: .tokenUnless(.metrics),
            statuses: [200, 400]
        ) {
            request,
            _ throws(RequestFailure) in
            try metrics(request)
        }
        table.add(.get, "/healthz", .probe, needs: .nothing, statuses: [200, 400]) {
            request,
            _ throws(RequestFailure) in
            try request.noQuery()
            request.respond(.ok, body: .text(#"{"status":"ok"}"#)) {
                $0.add("Content-Type", "application/json")
            }
        }
        table.add(
            .get,
            "/readyz",
            .probe,
            needs: .tokenUnless(.readyz),
            statuses: [200, 400, 503]
        ) {
            request,
            _ throws(RequestFailure) in
            try readiness(request)
        }
    }

    private func contention(_ request: ServiceRequest) throws(RequestFailure) {
        try request.noQuery()
        let report = meters.report()
        if MediaType.prefersText(request.exchange.headers(named: "accept")) {
            let text = ContentionText(report: report, profile: profiles.profile?.reading())
            request.respond(.ok, body: .bytes(Array(text.description.utf8))) { answer in
                answer.add("Content-Type", "text/plain; charset=utf-8")
                answer.add("Vary", "Accept")
            }
            return
        }
        let whole = ContentionAnswer(fingerprint: Fingerprint(context), report: report)
        guard let json = try? whole.json() else {
            preconditionFailure("A report of numbers and names can be written as JSON.")
        }
        request.respond(.ok, body: .bytes(Array(json))) { answer in
            answer.add("Content-Type", "application/json")
            answer.add("Vary", "Accept")
        }
    }

    private func metrics(_ request: ServiceRequest) throws(RequestFailure) {
        try request.noQuery()
        let format = ExpositionFormat(accept: request.exchange.headers(named: "accept"))
        request.respond(.ok, body: .bytes(registry.text(format)), bound: .none) { answer in
            answer.add("Content-Type", text: format.contentType)
            answer.add("Vary", "Accept")
        }
    }

    /// Answers 200 if the service can serve everything.
    ///
    /// A server that drains refuses the request before a route sees it.
    private func readiness(_ request: ServiceRequest) throws(RequestFailure) {
        let verbose = try request.query(["verbose"])["verbose"]
        // People type `?verbose` without a value.
        let isVerbose = try Query.flag(
            verbose == "" ? "true" : verbose,
            name: "verbose",
            default: false
        )
        let checks = readiness.checks
        let isReady = checks.allSatisfy(\.isPassed)
        var json = JSONWriter()
        json.object { object in
            object.member("status", isReady ? "ready" : "unready")
            if isVerbose {
                object.array("checks") { list in
                    for check in checks {
                        list.object { object in
                            object.member("name", "\(check.name)")
                            object.member("ok", check.isPassed)
                            if let detail = check.detail {
                                object.member("detail", detail)
                            }
                        }
                    }
                }
            }
        }
        guard !isReady else {
            request.respond(json: json.bytes)
            return
        }
        request.respond(.unavailable, body: .bytes(json.bytes), bound: .none) { answer in
            answer.add("Content-Type", "application/json")
            answer.add("Retry-After", "1")
        }
    }
}
