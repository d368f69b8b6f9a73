import Foundation
import LatchkeyService
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import latchkey

/// `serve --audit-log`: which requests have which lines.
@Suite(.timeLimit(.minutes(3)), .serialized)
struct AuditTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private var path: String { folder.path + "/audit.log" }
    private var flags: [String] { ["--audit-log", path] }

    /// One line, whose members are texts.
    private typealias Line = [String: String]

    private func lines(_ path: String) throws -> [Line] {
        try String(contentsOfFile: path, encoding: .utf8).utf8
            .split(separator: UInt8(ascii: "\n"))
            .map { line in
                let object = try JSONSerialization.jsonObject(with: Data(line))
                let members = try #require(object as? [String: Any])
                return members.mapValues { $0 is NSNull ? "null" : "\($0)" }
            }
    }

    /// What a request must have: these members, besides time, address and identifier.
    private struct Case {
        let method: String
        let target: String
        var body: String?
        var headers: [String] = []
        let status: Int
        let lines: [Line]

        init(
            _ method: String,
            _ target: String,
            _ body: String? = nil,
            _ headers: [String] = [],
            _ status: Int,
            _ lines: [Line]
        ) {
            (self.method, self.target, self.body) = (method, "/v1" + target, body)
            (self.headers, self.status, self.lines) = (headers, status, lines)
        }
    }

    private static let property = "/v1/properties/{name}"

    private static let cases: [Case] = [
        Case("PUT", "/properties/a", "1", [], 201, [["name": "a", "revision": "1"]]),
        Case("PUT", "/properties/a?ttl=60", "2", [], 204, [["name": "a", "revision": "2"]]),
        Case(
            "PATCH",
            "/properties/%C3%A4%22%2F%5C",
            "{}",
            ["Content-Type: application/merge-patch+json"],
            200,
            [["name": "ä\"/\\", "revision": "3"]]
        ),
        Case(
            "POST",
            "/properties/n/increment",
            nil,
            [],
            200,
            [["route": property + "/increment", "name": "n", "revision": "4"]]
        ),
        Case("GET", "/properties/a", nil, [], 200, []),
        Case("GET", "/properties/none", nil, [], 404, []),
        Case("GET", "/properties", nil, [], 200, []),
        Case("GET", "/export", nil, [], 200, []),
        Case(
            "PUT",
            "/properties/a",
            "x",
            [],
            400,
            [["name": "a", "problem": "malformed-json"]]
        ),
        Case(
            "PUT",
            "/properties/a",
            "1",
            ["If-Match: \"9\""],
            412,
            [["name": "a", "problem": "precondition-failed"]]
        ),
        Case("DELETE", "/properties/no", nil, [], 404, [["name": "no", "problem": "not-found"]]),
        Case(
            "DELETE",
            "/properties/a",
            nil,
            [],
            204,
            [["name": "a", "revision": "5", "removed": "1"]]
        ),
        Case(
            "PUT",
            "/properties/k",
            "1",
            ["Idempotency-Key: k"],
            201,
            [["name": "k", "revision": "6"]]
        ),
        Case(
            "PUT",
            "/properties/k",
            "1",
            ["Idempotency-Key: k"],
            201,
            [["name": "k", "repeated": "1"]]
        ),
        Case(
            "POST",
            "/transactions",
            #"{"then":[{"put":"x","value":"secret"},{"delete":"n"},{"get":"k"}]}"#,
            [],
            200,
            [
                ["route": "/v1/transactions", "name": "x", "revision": "7"],
                ["route": "/v1/transactions", "name": "n", "revision": "7", "removed": "1"],
            ]
        ),
        Case(
            "POST",
            "/transactions",
            #"{"if":[{"name":"x","exists":false}],"then":[{"put":"x","value":1}]}"#,
            [],
            200,
            [["route": "/v1/transactions"]]
        ),
        Case(
            "POST",
            "/import?partial=true",
            "{\"name\":\"i\",\"value\":1}\n{\"name\":\"j\",\"value\":1}\n",
            [],
            200,
            [["route": "/v1/import", "imported": "2", "revision": "8"]]
        ),
        Case(
            "POST",
            "/import?batch=1",
            "{\"name\":\"i\",\"value\":1}\nx\n",
            [],
            400,
            [
                [
                    "route": "/v1/import", "imported": "1", "revision": "9",
                    "problem": "invalid-line",
                ]
            ]
        ),
        Case(
            "POST",
            "/operations",
            """
            {"operations":[{"id":"one","steps":[{"wait":60}]},\
            {"id":"two","steps":[{"wait":60}]}]}
            """,
            [],
            202,
            [
                ["route": "/v1/operations", "operation": "one"],
                ["route": "/v1/operations", "operation": "two"],
            ]
        ),
        Case(
            "DELETE",
            "/operations/one",
            nil,
            [],
            202,
            [["route": "/v1/operations/{id}", "operation": "one"]]
        ),
        Case("POST", "/contention/reset", nil, [], 204, [["route": "/v1/contention/reset"]]),
        Case("POST", "/session", nil, [], 204, [["route": "/v1/session"]]),
        Case("DELETE", "/session", nil, [], 204, [["route": "/v1/session"]]),
        Case("POST", "/nowhere", "1", [], 404, []),
        Case(
            "GET",
            "/properties/a",
            nil,
            ["Host: evil.example"],
            400,
            []
        ),
        Case(
            "GET",
            "/properties/a",
            nil,
            ["Origin: http://evil.example"],
            403,
            [["route": "none", "problem": "cross-site-request"]]
        ),
    ]

    @Test(arguments: Deployment.allCases)
    func `each write and each refusal has its lines`(deployment: Deployment) async throws {
        let identifiers = Guarded<[String?]>([])
        try await deployment.serve(flags) { site in
            for one in Self.cases {
                let answer = try site.ask(one.method, one.target, one.body, headers: one.headers)
                #expect(answer.status == one.status, "\(one.method) \(one.target) \(answer.text)")
                identifiers.write { $0.append(answer.headers["latchkey-request-id"]) }
            }
        }
        var left = try lines(path)
        #expect(!(try String(contentsOfFile: path, encoding: .utf8)).contains("secret"))
        for (one, identifier) in zip(Self.cases, identifiers.read { $0 }) {
            let place = Comment(rawValue: "\(one.method) \(one.target)")
            #expect((identifier != nil) == !one.lines.isEmpty, place)
            for expected in one.lines {
                var line = try #require(left.first)
                left.removeFirst()
                #expect(line.removeValue(forKey: "request") == identifier, place)
                #expect(line.removeValue(forKey: "time")?.wholeMatch(of: Self.time) != nil, place)
                #expect(line.removeValue(forKey: "address") == "127.0.0.1", place)
                var whole = expected
                whole["method"] = one.method
                whole["status"] = "\(one.status)"
                whole["token"] = "null"
                whole["route"] = expected["route"] ?? Self.property
                #expect(line == whole, place)
            }
        }
        #expect(left.isEmpty)
    }

    private static var time: Regex<Substring> {
        /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/
    }

    @Test(arguments: Deployment.allCases)
    func `refusals name the token, and traces are kept`(deployment: Deployment) async throws {
        let tokens = try Tokens(["ci": ["read,write:app/"]])
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        let rate = ["--rate", "1"]
        let answers = Guarded<[HTTPAnswer]>([])
        let all = flags + tokens.flags + rate
        try await deployment.serve(all, limits: "rate-burst=3") { site in
            let headers = tokens.headers("ci")
            for (method, target, body, headers) in [
                ("PUT", "app%2Fa", "1", headers + ["traceparent: \(trace)"]),
                ("GET", "b", nil, headers + ["traceparent: \(trace)x"]),
                ("PUT", "app%2Fa", "1", headers), ("PUT", "app%2Fa", "1", headers),
                ("PUT", "a", "1", ["Authorization: Bearer lk_wrong"]),
            ] as [(String, String, String?, [String])] {
                let target = "/v1/properties/" + target
                let answer = try site.ask(method, target, body, headers: headers)
                answers.write { $0.append(answer) }
            }
        }
        let found = try lines(path)
        #expect(answers.read { $0.map(\.status) } == [201, 403, 204, 429, 401])
        #expect(found.map { $0["status"] } == ["201", "403", "204", "429", "401"])
        #expect(
            found.map { $0["request"] }
                == answers.read { $0.map { $0.headers["latchkey-request-id"] } }
        )
        #expect(found.map { $0["token"] } == ["ci", "ci", "ci", "ci", "null"])
        #expect(found.map { $0["name"] } == ["app/a", "b", "app/a", "app/a", "a"])
        #expect(
            found.map { $0["problem"] }
                == [nil, "forbidden", nil, "rate-exceeded", "unauthorized"]
        )
        #expect(found[0]["trace"] == "0af7651916cd43dd8448eb211c80319c")
        #expect(found[0]["parent"] == "b7ad6b7169203331")
        #expect(found.dropFirst().allSatisfy { $0["trace"] == nil })
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(!text.contains(tokens["ci"]) && !text.contains("lk_wrong"))
    }

    @Test(arguments: Deployment.allCases)
    func `steps of operations have lines of their owner`(deployment: Deployment) async throws {
        let tokens = try Tokens([
            "app": ["read,write:app/", "operations"], "in": ["operations", "import"],
        ])
        try await deployment.serve(flags + tokens.flags) { site in
            func run(_ name: String, _ id: String, _ steps: String) throws {
                let body = #"{"id":"\#(id)","steps":[\#(steps)]}"#
                let headers = tokens.headers(name)
                let answer = try site.ask("POST", "/v1/operations", body, headers: headers)
                #expect(answer.status == 202, "\(answer.text)")
                let client = try EventStreamClient(
                    port: site.port,
                    "/v1/operations/\(id)/events",
                    headers: headers
                )
                _ = try client.events { $0.data.contains(#""ended":"#) }
            }
            try run("app", "one", #"{"put":"app/a","value":"secret"},{"increment":"app/a"}"#)
            try run("in", "two", #"{"import":"{\"name\":\"app/x\",\"value\":1}\n"}"#)
        }
        let found = try lines(path).filter { $0["route"] == nil }
        #expect(found.map { $0["operation"] } == ["one", "one", "two"])
        #expect(found.map { $0["token"] } == ["app", "app", "in"])
        #expect(found.map { $0["name"] } == ["app/a", "app/a", nil])
        #expect(found.map { $0["status"] } == ["200", "409", "403"])
        #expect(found.map { $0["revision"] } == ["1", nil, nil])
        #expect(found.map { $0["problem"] } == [nil, "not-an-integer", "forbidden"])
        #expect(found.allSatisfy { $0["address"] == "127.0.0.1" })
    }

    @Test(arguments: Deployment.allCases)
    func `an import whose client goes has a line, too`(deployment: Deployment) async throws {
        try await deployment.serve(flags) { site in
            let client = try site.client()
            try client.send(
                "POST /v1/import?batch=1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999\r\n\r\n"
                    + #"{"name":"i","value":1}"# + "\n"
            )
            try site.awaitMetric("latchkey_store_properties", 1)
            client.close()
            try site.awaitMetric("latchkey_audit_lines_total", 1)
        }
        let found = try lines(path)
        #expect(found.count == 1)
        #expect(found.first?["lost"] == "1" && found.first?["imported"] == "1")
        #expect(found.first?["revision"] == "1")
    }

    @Test func `with data on disk, the author stands beside the change`() async throws {
        let tokens = try Tokens(["ci": ["read,write", "import", "operations"]])
        let data = folder.path + "/data"
        try await Deployment.program.serve(tokens.flags + ["--data", data]) { site in
            let headers = tokens.headers("ci")
            func ask(_ method: String, _ target: String, _ body: String?) throws {
                let answer = try site.ask(method, "/v1" + target, body, headers: headers)
                #expect(answer.status / 100 == 2, "\(answer.text)")
            }
            try ask("PUT", "/properties/a", "1")
            try ask("POST", "/transactions", #"{"then":[{"put":"b","value":1},{"delete":"a"}]}"#)
            try ask("POST", "/import?partial=true", #"{"name":"c","value":1}"# + "\n")
            try ask("POST", "/operations", #"{"id":"o","steps":[{"put":"d","value":1}]}"#)
            let client = try EventStreamClient(
                port: site.port,
                "/v1/operations/o/events",
                headers: headers
            )
            _ = try client.events { $0.data.contains(#""ended":"#) }
        }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/sqlite3")
        process.arguments = [
            data + "/latchkey.db", "select name, author from changes order by row",
        ]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(String(decoding: output, as: UTF8.self) == "a|ci\nb|ci\na|ci\nc|ci\nd|ci\n")
    }

    @Test(arguments: Deployment.allCases)
    func `without a file, nothing is different`(deployment: Deployment) async throws {
        let tokens = try Tokens(["ci": ["read,write"]])
        try await deployment.serve(tokens.flags) { site in
            let target = "/v1/properties/a"
            for headers in [[], tokens.headers("ci")] {
                let answer = try site.ask("PUT", target, "1", headers: headers)
                #expect(answer.headers["latchkey-request-id"] == nil)
            }
            let metrics = try site.ask("GET", "/metrics", headers: tokens.headers("ci"))
            #expect(!metrics.text.contains("latchkey_audit"))
        }
    }
}
