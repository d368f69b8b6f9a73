import Foundation
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// `serve --audit-log`: which requests have which lines.
@Suite(.timeLimit(.minutes(15)), .serialized)
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

    /// A request, and its lines: their members besides time, address and identifier.
    private struct Case {
        let method: String
        let target: String
        let body: String?
        let headers: [String]
        let status: Int
        let lines: [Line]

        /// A line is text such as `name=a revision=1`; the route of a name is that of a property.
        init(
            _ status: Int,
            _ request: String,
            _ lines: String...,
            body: String? = nil,
            headers: [String] = []
        ) {
            let words = request.split(separator: " ").map(String.init)
            (method, target) = (words[0], "/v1" + words[1])
            (self.body, self.headers, self.status) = (body, headers, status)
            self.lines = lines.map { text in
                let pairs = text.split(separator: " ").map { $0.split(separator: "=") }
                return Dictionary(
                    uniqueKeysWithValues: pairs.map { (String($0[0]), String($0[1])) }
                )
            }
        }
    }

    private static let key = ["Idempotency-Key: k"]
    private static let steps =
        #"{"then":[{"put":"x","value":"secret"},{"delete":"n"},{"get":"k"}]}"#
    private static let nothing =
        #"{"if":[{"name":"x","exists":false}],"then":[{"put":"x","value":1}]}"#
    private static let imported = "{\"name\":\"i\",\"value\":1}\n{\"name\":\"j\",\"value\":1}\n"
    private static let waits =
        #"{"operations":[{"id":"one","steps":[{"wait":60}]},{"id":"two","steps":[{"wait":60}]}]}"#

    private static let increment = "route=/v1/properties/{name}/increment"
    private static let commit = "route=/v1/transactions"

    private static let cases: [Case] = [
        Case(201, "PUT /properties/a", "name=a revision=1", body: "1"),
        Case(204, "PUT /properties/a?ttl=60", "name=a revision=2", body: "2"),
        Case(
            200,
            "PATCH /properties/%C3%A4%22%2F%5C",
            "name=ä\"/\\ revision=3",
            body: "{}",
            headers: ["Content-Type: application/merge-patch+json"]
        ),
        Case(200, "POST /properties/n/increment", "\(increment) name=n revision=4"),
        Case(200, "GET /properties/a"), Case(404, "GET /properties/none"),
        Case(200, "GET /properties"), Case(200, "GET /export"),
        Case(400, "PUT /properties/a", "name=a problem=malformed-json", body: "x"),
        Case(
            412,
            "PUT /properties/a",
            "name=a problem=precondition-failed",
            body: "1",
            headers: ["If-Match: \"9\""]
        ),
        Case(404, "DELETE /properties/no", "name=no problem=not-found"),
        Case(204, "DELETE /properties/a", "name=a revision=5 removed=1"),
        Case(201, "PUT /properties/k", "name=k revision=6", body: "1", headers: key),
        Case(201, "PUT /properties/k", "name=k repeated=1", body: "1", headers: key),
        Case(
            200,
            "POST /transactions",
            "\(commit) name=x revision=7",
            "\(commit) name=n revision=7 removed=1",
            body: steps
        ),
        Case(200, "POST /transactions", commit, body: nothing),
        Case(
            200,
            "POST /import?partial=true",
            "route=/v1/import imported=2 revision=8",
            body: imported
        ),
        Case(
            400,
            "POST /import?batch=1",
            "route=/v1/import imported=1 revision=9 problem=invalid-line",
            body: "{\"name\":\"i\",\"value\":1}\nx\n"
        ),
        Case(
            202,
            "POST /operations",
            "route=/v1/operations operation=one",
            "route=/v1/operations operation=two",
            body: waits
        ),
        Case(202, "DELETE /operations/one", "route=/v1/operations/{id} operation=one"),
        Case(204, "POST /contention/reset", "route=/v1/contention/reset"),
        Case(
            200,
            "PUT /strategy",
            "route=/v1/strategy from=lock to=adaptive",
            body: #"{"strategy":"adaptive"}"#
        ),
        Case(
            422,
            "PUT /strategy",
            "route=/v1/strategy problem=strategy-not-available",
            body: #"{"strategy":"actor"}"#
        ),
        Case(400, "PUT /strategy", "route=/v1/strategy problem=invalid-body", body: "{}"),
        Case(200, "GET /strategy"),
        Case(204, "POST /session", "route=/v1/session"),
        Case(204, "DELETE /session", "route=/v1/session"),
        Case(404, "POST /nowhere", body: "1"),
        Case(400, "GET /properties/a", headers: ["Host: evil.example"]),
        Case(
            403,
            "GET /properties/a",
            "route=none problem=cross-site-request",
            headers: ["Origin: http://evil.example"]
        ),
    ]

    @Test(arguments: [Deployment.inProcess, .oneReplica])
    func `each write and each refusal has its lines`(deployment: Deployment) async throws {
        let identifiers = Synchronized<[String?], LockStrategy>([])
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
            #expect(identifier?.count == 20, place)
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
                whole["route"] = expected["route"] ?? "/v1/properties/{name}"
                #expect(line == whole, place)
            }
        }
        #expect(left.isEmpty)
    }

    private static var time: Regex<Substring> {
        /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/
    }

    /// The members of this name of all lines.
    private func all(_ name: String, of lines: [Line]) -> [String?] { lines.map { $0[name] } }

    @Test func `refusals name the token, and traces are kept`() async throws {
        let tokens = try Tokens(["ci": ["read,write:app/"]])
        let trace = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        let identifiers = Synchronized<[String?], LockStrategy>([])
        try await Deployment.inProcess.serve(flags + tokens.flags) { site in
            let ci = site.with(tokens, "ci")
            let wrong = ["Authorization: Bearer lk_wrong"]
            let answers = [
                try ci.ask("PUT", "/v1/properties/app%2Fa", "1", headers: [trace]),
                try ci.ask("GET", "/v1/properties/b", headers: [trace + "x"]),
                try ci.ask("PUT", "/v1/properties/app%2Fa", "1"),
                try site.ask("PUT", "/v1/properties/a", "1", headers: wrong),
            ]
            #expect(answers.map(\.status) == [201, 403, 204, 401])
            identifiers.write { $0 = answers.map { $0.headers["latchkey-request-id"] } }
        }
        let found = try lines(path)
        #expect(all("status", of: found) == ["201", "403", "204", "401"])
        #expect(all("request", of: found) == identifiers.read { $0 })
        #expect(all("token", of: found) == ["ci", "ci", "ci", "null"])
        #expect(all("name", of: found) == ["app/a", "b", "app/a", "a"])
        #expect(all("problem", of: found) == [nil, "forbidden", nil, "unauthorized"])
        #expect(all("trace", of: found) == ["0af7651916cd43dd8448eb211c80319c", nil, nil, nil])
        #expect(found[0]["parent"] == "b7ad6b7169203331")
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(!text.contains(tokens["ci"]) && !text.contains("lk_wrong"))
    }

    @Test(arguments: [Deployment.inProcess, .oneReplica])
    func `steps of operations have lines of their owner`(deployment: Deployment) async throws {
        let tokens = try Tokens([
            "app": ["read,write:app/", "operations"], "in": ["operations", "import"],
        ])
        try await deployment.serve(flags + tokens.flags) { site in
            for (name, id, steps) in [
                ("app", "one", #"{"put":"app/a","value":"secret"},{"increment":"app/a"}"#),
                ("in", "two", #"{"import":"{\"name\":\"app/x\",\"value\":1}\n"}"#),
            ] {
                let owner = site.with(tokens, name)
                #expect(try owner.submit(#"{"id":"\#(id)","steps":[\#(steps)]}"#).status == 202)
                _ = try owner.events(of: id)
            }
        }
        let found = try lines(path).filter { $0["route"] == nil }
        #expect(all("operation", of: found) == ["one", "one", "two"])
        #expect(all("token", of: found) == ["app", "app", "in"])
        #expect(all("name", of: found) == ["app/a", "app/a", nil])
        #expect(all("status", of: found) == ["200", "409", "403"])
        #expect(all("revision", of: found) == ["1", nil, nil])
        #expect(all("problem", of: found) == [nil, "not-an-integer", "forbidden"])
        #expect(found.allSatisfy { $0["address"] == "127.0.0.1" })
    }

    @Test func `an import whose client goes has a line, too`() async throws {
        try await Deployment.inProcess.serve(flags) { site in
            let length = ["Content-Length: 999"]
            let client = try site.asking("POST", "/v1/import?batch=1", headers: length)
            try client.send(#"{"name":"i","value":1}"# + "\n")
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
        try await Deployment.inProcess.serve(tokens.flags + ["--data", data]) { site in
            let ci = site.with(tokens, "ci")
            for (method, target, body) in [
                ("PUT", "properties/a", "1"),
                ("POST", "transactions", #"{"then":[{"put":"b","value":1},{"delete":"a"}]}"#),
                ("POST", "import?partial=true", #"{"name":"c","value":1}"# + "\n"),
                ("POST", "operations", #"{"id":"o","steps":[{"put":"d","value":1}]}"#),
            ] {
                #expect(try ci.ask(method, "/v1/" + target, body).status / 100 == 2, "\(target)")
            }
            _ = try ci.events(of: "o")
        }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/sqlite3")
        let query = "select name, author from changes order by row"
        process.arguments = [data + "/latchkey.db", query]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(String(decoding: output, as: UTF8.self) == "a|ci\nb|ci\na|ci\nc|ci\nd|ci\n")
    }
}
