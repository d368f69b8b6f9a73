import Foundation
import LatchkeyFrame
import LatchkeyService
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// The routes for people, probes and monitoring.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct OperatingTests {
    private static func rows(_ site: Site) throws -> [[String: Any]] {
        let report = try #require(try site.ask("GET", "/v1/contention").json as? [String: Any])
        return try #require(report["rows"] as? [[String: Any]])
    }

    @Test(arguments: Deployment.allCases)
    func `acquisitions are what the requests have caused`(deployment: Deployment) async throws {
        try await deployment.serve(["--stripes", "4"]) { site in
            let client = try site.client()
            for number in 0..<50 {
                _ = try client.request("PUT", "/v1/properties/\(number)", body: [0x31])
                _ = try client.request("GET", "/v1/properties/\(number)")
                _ = try client.request("GET", "/v1/properties/x")
                _ = try client.request("POST", "/v1/properties/\(number)/increment")
                _ = try client.request("DELETE", "/v1/properties/x")
            }
            _ = try client.request("GET", "/v1/properties")
            let row = try #require(try Self.rows(site).first)
            #expect(row["strategy"] as? String == deployment.strategy)
            #expect(row["role"] as? String == "serving")
            let counts = try #require(row["acquisitions"] as? [String: Int])
            let stripeCount = deployment == .actor ? 1 : 4
            // A listing reads every stripe once.
            #expect(counts["read"] == 100 + stripeCount)
            #expect(counts["write"] == 150)
            #expect(try client.request("POST", "/v1/contention/reset").status == 204)
            let after = try #require(try Self.rows(site).first?["acquisitions"] as? [String: Int])
            #expect(after == ["read": 0, "write": 0, "all": 0])
        }
    }

    @Test(arguments: ["off", "counts", "sampled", "full"])
    func `the level decides what is measured`(level: String) async throws {
        try await Deployment.inProcess.serve(["--metering", level]) { site in
            let client = try site.client()
            for _ in 0..<1000 {
                _ = try client.request("POST", "/v1/properties/n/increment")
            }
            let rows = try Self.rows(site)
            guard level != "off" else {
                #expect(rows.isEmpty)
                return
            }
            let row = try #require(rows.first)
            #expect(row["level"] as? String == level)
            #expect((row["acquisitions"] as? [String: Int])?["write"] == 1000)
            let hold = (row["hold"] as? [String: Any])?["write"] as? [String: Any]
            switch level {
            case "counts": #expect(hold == nil)
            case "full": #expect(hold?["timedCount"] as? Int == 1000)
            default:
                let timed = hold?["timedCount"] as? Int ?? 0
                #expect(timed > 0)
                #expect(timed < 200)
            }
        }
    }

    @Test(arguments: [Deployment.inProcess, .oneReplica])
    func `metrics count every request by method, route and status`(
        deployment: Deployment
    ) async throws {
        try await deployment.serve(["--stripes", "1"]) { site in
            let client = try site.client()
            _ = try client.request("PUT", "/v1/properties/secret-name", body: [0x31])
            _ = try client.request("GET", "/v1/properties/secret-name")
            _ = try client.request("HEAD", "/v1/properties/secret-name")
            _ = try client.request("GET", "/v1/properties/none")
            _ = try client.request("GET", "/nowhere")
            let text = try client.request("GET", "/metrics").text
            func requests(_ method: String, _ route: String, _ status: Int) -> String {
                #"latchkey_http_requests_total{method="\#(method)",route="\#(route)","#
                    + #"status="\#(status)"} 1"#
            }
            func acquisitions(_ mode: String, _ count: Int) -> String {
                "latchkey_lock_acquisitions_total"
                    + #"{strategy="lock",mode="\#(mode)",role="serving"} \#(count)"#
            }
            for line in [
                requests("PUT", "/v1/properties/{name}", 201),
                requests("GET", "/v1/properties/{name}", 200),
                requests("HEAD", "/v1/properties/{name}", 200),
                requests("GET", "/v1/properties/{name}", 404),
                requests("GET", "none", 404),
                acquisitions("read", 3), acquisitions("write", 1),
                "latchkey_http_request_body_bytes_total 1", "latchkey_store_properties 1",
                "latchkey_store_bytes 12", "latchkey_store_revision 1",
                "latchkey_http_suspended_requests 0",
            ] {
                #expect(text.contains(line + "\n"), "\(line)")
            }
            for family in [
                "process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds",
                "process_start_time_seconds", "process_threads", "latchkey_build_info",
                "latchkey_lock_wait_seconds_bucket", "latchkey_lock_hold_seconds_count",
                #"latchkey_http_request_duration_seconds_bucket{kind="get","#,
                #"latchkey_http_requests_total{method="POST",route="/v1/pop",status="503"} 0"#,
            ] {
                #expect(text.contains("\n\(family)"), "\(family)")
            }
            for series in [#"kind="list""#, #"route="/v1/pop",status="200""#] {
                #expect(!text.contains(series), "there was no such request")
            }
            #expect(!text.contains("secret"), "there is never a label for a property")
        }
    }

    @Test func `the fixed answers are there`() async throws {
        try await Deployment.inProcess.serve(["--strategy", "spin"]) { site in
            try site.isWell()
            #expect(try site.ask("GET", "/readyz").text == #"{"status":"ready"}"#)
            #expect(try site.ask("GET", "/readyz?verbose").text.contains("\"checks\""))
            let table = try #require(site.ask("GET", "/v1/strategies").json as? [String: Any])
            #expect(table["serving"] as? String == "spin")
            let rows = try #require(table["strategies"] as? [[String: Any]])
            #expect(rows.map { $0["name"] as? String } == StrategyKind.allCases.map(\.rawValue))
            #expect(try site.ask("GET", "/openapi.yaml").text.hasPrefix("openapi: 3.1"))
            let page = try site.ask("GET", "/")
            #expect(page.headers["content-type"] == "text/html; charset=utf-8")
            let policy = try #require(page.headers["content-security-policy"])
            #expect(policy.contains("default-src 'none'") && !policy.contains("unsafe"))
            for problem in Problem.allCases {
                #expect(try site.ask("GET", problem.path).text.contains("Status \(problem.status)"))
            }
        }
    }

    @Test(arguments: Deployment.allCases)
    func `timing is sent if asked for`(deployment: Deployment) async throws {
        try await deployment.serve(["--server-timing"]) { site in
            for (method, target) in [
                ("POST", "/v1/properties/n/increment"), ("GET", "/v1/properties/n"),
                ("GET", "/v1/properties"), ("GET", "/nowhere"),
            ] {
                let field = try site.ask(method, target).headers["server-timing"] ?? ""
                let parts = field.split(separator: ", ").map { $0.prefix { $0 != "=" } }
                #expect(parts == ["wait;dur", "hold;dur", "total;dur"], "\(field)")
                let times = field.split(separator: ", ").compactMap {
                    $0.split(separator: "=").last.flatMap { Double($0) }
                }
                #expect(times.count == 3 && times.dropLast().allSatisfy { $0 <= times[2] })
            }
        }
        try await deployment.serve { site in
            let answer = try site.ask("GET", "/healthz")
            #expect(answer.headers["server-timing"] == nil)
        }
    }

    @Test func `a list has pages, prefixes and no values if unwanted`() async throws {
        try await Deployment.inProcess.serve { site in
            let client = try site.client()
            let empty = try client.request("GET", "/v1/properties").text
            #expect(empty == #"{"revision":0,"properties":[]}"#)
            for name in ["b%2F1", "a", "b%2F2", "%22%5C"] {
                _ = try client.request("PUT", "/v1/properties/\(name)", body: Array("[1]".utf8))
            }
            let page = try client.request("GET", "/v1/properties?limit=2&values=false").json
            let first = try #require(page as? [String: Any])
            let names = (first["properties"] as? [[String: Any]])?.map { $0["name"] as? String }
            #expect(names == ["\"\\", "a"])
            let next = try #require(first["next"] as? String)
            let rest = try client.request("GET", "/v1/properties?limit=2&after=\(next)").text
            #expect(
                rest == #"{"revision":4,"properties":["#
                    + #"{"name":"b/1","revision":1,"created":1,"value":[1]},"#
                    + #"{"name":"b/2","revision":3,"created":3,"value":[1]}]}"#
            )
            let some = try client.request("GET", "/v1/properties?prefix=b/2&values=false").text
            #expect(
                some
                    == #"{"revision":4,"properties":[{"name":"b/2","revision":3,"created":3}]}"#
            )
        }
    }
}
