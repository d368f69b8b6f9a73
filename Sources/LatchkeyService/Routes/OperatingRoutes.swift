internal import Foundation
internal import LatchkeyContention
internal import LatchkeyHTTP
internal import LatchkeyMetrics
internal import LatchkeySync

/// The routes for people, probes and monitoring: nothing of them touches the store.
struct OperatingRoutes: Sendable {
    let strategy: StrategyKind
    let board: ContentionBoard
    let registry: MetricRegistry
    let version: String

    func add(to table: inout RouteTable) {
        let strategies = StrategyTable.json(serving: strategy)
        let index = Pages.index(version: version, strategy: strategy)
        table.add(.get, "/", statuses: [200, 400]) { call, _ throws(RequestFailure) in
            try call.noQuery()
            call.respond(html: index)
        }
        table.add(.get, "/v1/strategies", statuses: [200, 400]) { call, _ throws(RequestFailure) in
            try call.noQuery()
            call.respond(json: strategies)
        }
        table.add(.get, "/v1/contention", statuses: [200, 400]) { call, _ throws(RequestFailure) in
            try contention(call)
        }
        table.add(.post, "/v1/contention/reset", statuses: [204, 400]) {
            call,
            _ throws(RequestFailure) in
            try call.noQuery()
            board.reset()
            call.respond(.noContent)
        }
        table.add(.get, "/metrics", statuses: [200, 400]) { call, _ throws(RequestFailure) in
            try metrics(call)
        }
        // Whoever asks whether the process is alive may end it if it does not answer.
        table.add(.get, "/healthz", statuses: [200, 400], servesRefused: true) {
            call,
            _ throws(RequestFailure) in
            try call.noQuery()
            call.respond(.ok, body: .text(#"{"status":"ok"}"#)) {
                $0.add("Content-Type", "application/json")
                $0.mustBeRevalidated()
            }
        }
        table.add(.get, "/readyz", statuses: [200, 400]) { call, _ throws(RequestFailure) in
            try readiness(call)
        }
        table.add(.get, "/openapi.yaml", statuses: [200, 400]) { call, _ throws(RequestFailure) in
            try call.noQuery()
            call.respond(.ok, body: .bytes(PackageResources.openapi_yaml)) {
                $0.add("Content-Type", "application/yaml")
                $0.mustBeRevalidated()
            }
        }
        table.add(.get, "/problems/{problem}", statuses: [200, 400, 404]) {
            call,
            match throws(RequestFailure) in
            try call.noQuery()
            let name = String(decoding: match.capture, as: UTF8.self)
            guard let problem = Problem(rawValue: name) else {
                throw RequestFailure(.noRoute)
            }
            call.respond(html: Pages.problem(problem))
        }
    }

    private func contention(_ call: Call) throws(RequestFailure) {
        try call.noQuery()
        guard let json = try? board.report().json() else {
            preconditionFailure("A report of numbers and names can be written as JSON.")
        }
        call.respond(json: Array(json))
    }

    private func metrics(_ call: Call) throws(RequestFailure) {
        try call.noQuery()
        let format = ExpositionFormat(accept: call.exchange.headers(named: "accept"))
        call.respond(.ok, body: .bytes(registry.text(format))) { answer in
            answer.add("Content-Type", format.contentType)
            answer.add("Vary", "Accept")
            answer.mustBeRevalidated()
        }
    }

    /// A server that drains, or has as many connections as it takes, rejects requests before any
    /// route sees them, so whoever gets here is told that the service is ready.
    private func readiness(_ call: Call) throws(RequestFailure) {
        let verbose = try call.query(["verbose"])["verbose"]
        // `?verbose` alone is what people type.
        let isVerbose = try Query.flag(
            verbose == "" ? "true" : verbose,
            name: "verbose",
            default: false
        )
        var json = JSONWriter()
        json.object { object in
            object.member("status", "ready")
            if isVerbose {
                object.array("checks") { checks in
                    checks.object { check in
                        check.member("name", "accepting")
                        check.member("ok", true)
                    }
                }
            }
        }
        call.respond(json: json.bytes)
    }
}
