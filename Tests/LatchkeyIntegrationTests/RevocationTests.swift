import Foundation
import LatchkeyService
import LatchkeyTestSupport
import Testing

@testable import latchkey

/// What lasts while a token loses its rights, or counts no more.
@Suite(.timeLimit(.minutes(3)))
struct RevocationTests {
    /// A program with these tokens, and what replaces their file.
    private func serve(
        _ tokens: Tokens,
        _ body: @escaping @Sendable (Site, (String) throws -> Void) throws -> Void
    ) async throws {
        try await offPool {
            let program = try Program(["serve", "--port", "0"] + tokens.flags)
            let site = Site(port: try program.awaitPort())
            try body(site) { text in
                try text.write(toFile: tokens.path, atomically: true, encoding: .utf8)
                program.signal(SIGHUP)
                try program.awaitErrors(containing: "tokens read")
            }
            #expect(program.end() == 0)
        }
    }

    @Test func `an import of a revoked token stops, and says what it did`() async throws {
        let tokens = try Tokens(["in": ["write", "import"], "see": ["read"]])
        try await serve(tokens) { site, replace in
            let lines = (0..<3).map { #"{"name":"n\#($0)","value":1}"# + "\n" }
            let client = try site.client()
            try client.send(
                "POST /v1/import?partial=true&batch=1 HTTP/1.1\r\nHost: localhost\r\n"
                    + "Authorization: Bearer \(tokens["in"])\r\n"
                    + "Content-Length: \(lines.joined().utf8.count)\r\n\r\n"
            )
            try client.send(lines[0])
            try eventually("the first line is there") {
                try site.ask("GET", "/v1/properties/n0", headers: tokens.headers("see")).status
                    == 200
            }
            try replace(tokens.lines(without: "in"))
            try client.send(lines[1] + lines[2])
            let answer = try client.answer()
            #expect(answer.status == 401 && answer.text.contains(#""imported":1"#))
            let list = try site.ask("GET", "/v1/properties", headers: tokens.headers("see"))
            #expect(list.text.contains("n0") && !list.text.contains("n1"))
        }
    }

    @Test func `an operation whose owner loses a right fails at that step`() async throws {
        let tokens = try Tokens(["one": ["read,write", "operations"]])
        try await serve(tokens) { site, replace in
            let body =
                #"{"id":"o","steps":[{"put":"a","value":1},{"wait":2},{"put":"b","value":1}]}"#
            let sent = try site.ask("POST", "/v1/operations", body, headers: tokens.headers("one"))
            #expect(sent.status == 202)
            let narrow = tokens.lines().replacing(" read,write ", with: " read,write:a ")
            try replace(narrow)
            let events = try EventStreamClient(
                port: site.port,
                "/v1/operations/o/events",
                headers: tokens.headers("one")
            )
            let last = try events.events { $0.data.contains(#""state":"failed""#) }.last
            #expect(last?.data.contains("/problems/forbidden") == true)
            let read = ["Authorization: Bearer \(tokens["one"])"]
            #expect(try site.ask("GET", "/v1/properties/a", headers: read).text == "1")
        }
    }

    @Test func `a refusal is not kept for a key, so that a right can be given`() async throws {
        let tokens = try Tokens(["one": ["read:a"]])
        try await serve(tokens) { site, replace in
            let headers = tokens.headers("one") + ["Idempotency-Key: k"]
            #expect(try site.ask("PUT", "/v1/properties/a", "1", headers: headers).status == 403)
            try replace(tokens.lines().replacing(" read:a", with: " read,write:a"))
            #expect(try site.ask("PUT", "/v1/properties/a", "1", headers: headers).status == 201)
        }
    }

    @Test func `a grant that changes ends only what is not allowed any more`() async throws {
        let tokens = try Tokens(["one": ["read:a", "read:b"]])
        try await serve(tokens) { site, replace in
            func watch(_ prefix: String) throws -> EventStreamClient {
                try EventStreamClient(
                    port: site.port,
                    "/v1/watch?initial=true&prefix=\(prefix)",
                    headers: tokens.headers("one")
                )
            }
            let (kept, lost) = (try watch("a"), try watch("b"))
            let polls = try ["a", "b"].map { name in
                let poll = try site.client()
                try poll.send(
                    "GET /v1/properties/\(name)?after=0&wait=2 HTTP/1.1\r\nHost: localhost\r\n"
                        + "Authorization: Bearer \(tokens["one"])\r\n\r\n"
                )
                return poll
            }
            try site.awaitMetric("latchkey_watchers", 4, headers: tokens.headers("one"))
            try replace(tokens.lines().replacing(" read:b", with: " write:a"))
            #expect(try lost.events { _ in false }.last?.type == "close")
            let forbidden = try polls[1].answer()
            #expect(forbidden.status == 403 && forbidden.problem == "forbidden")
            #expect(try polls[0].answer().status == 404)
            let put = try site.ask("PUT", "/v1/properties/a", "1", headers: tokens.headers("one"))
            #expect(put.status == 201)
            #expect(try kept.events { $0.type == "put" }.last?.data.contains("1") == true)
        }
    }

    @Test func `the last token can be revoked, and a file that is gone revokes none`() async throws
    {
        let tokens = try Tokens(["one": ["read"]])
        try await serve(tokens) { site, replace in
            func status() throws -> Int {
                try site.ask("GET", "/v1/properties", headers: tokens.headers("one")).status
            }
            try FileManager.default.removeItem(atPath: tokens.path)
            let first = try status()
            #expect(first == 200)
            try replace("# none\n")
            #expect(try status() == 401)
            try replace(tokens.lines())
            #expect(try status() == 200)
        }
    }

    @Test func `a file that cannot be read for a moment is read then`() async throws {
        let tokens = try Tokens(["one": ["read"], "two": ["read"]])
        try await offPool {
            let program = try Program(["serve", "--port", "0"] + tokens.flags)
            let site = Site(port: try program.awaitPort())
            // A folder in its place stands for a read that fails.
            try FileManager.default.removeItem(atPath: tokens.path)
            try FileManager.default.createDirectory(
                atPath: tokens.path,
                withIntermediateDirectories: false
            )
            try program.awaitErrors(containing: "tokens not read")
            #expect(
                try site.ask("GET", "/v1/properties", headers: tokens.headers("one")).status == 200
            )
            try FileManager.default.removeItem(atPath: tokens.path)
            try tokens.lines(without: "one")
                .write(toFile: tokens.path, atomically: true, encoding: .utf8)
            try program.awaitErrors(containing: "tokens read before=2 now=1")
            #expect(
                try site.ask("GET", "/v1/properties", headers: tokens.headers("one")).status == 401
            )
            #expect(program.end() == 0)
        }
    }

    @Test func `a session ends with its token`() async throws {
        let tokens = try Tokens(["page": ["read"], "other": ["read"]])
        try await serve(tokens) { site, replace in
            let opened = try site.ask("POST", "/v1/session", headers: tokens.headers("page"))
            let cookie = opened.headers["set-cookie"]?.prefix { $0 != ";" } ?? ""
            let watch = try EventStreamClient(
                port: site.port,
                "/v1/watch",
                headers: ["Cookie: \(cookie)"]
            )
            #expect(watch.status == 200)
            try replace(tokens.lines(without: "page"))
            #expect(try watch.events { _ in false }.last?.type == "close")
            let list = try site.ask("GET", "/v1/properties", headers: ["Cookie: \(cookie)"])
            #expect(list.status == 401)
        }
    }

    @Test func `a rate is that of a token, from whatever address`() async throws {
        let tokens = try Tokens(["one": ["read"], "two": ["read"]])
        let flags = tokens.flags + ["--rate", "1"]
        try await Deployment.inProcess.serve(flags, limits: "rate-burst=2") { site in
            func status(_ name: String, from number: UInt8) throws -> Int {
                try site.ask("GET", "/v1/properties", headers: tokens.headers(name), from: number)
                    .status
            }
            let served = try (1...2).map { try status("one", from: $0) }
            #expect(served == [200, 200])
            #expect(try status("one", from: 3) == 429)
            #expect(try status("two", from: 1) == 200)
            // Without a token, the address counts, also where there is no route.
            #expect(try site.ask("GET", "/v1/properties", from: 4).status == 401)
            #expect(try site.ask("GET", "/x", from: 4).status == 404)
            #expect(try site.ask("GET", "/x", from: 4).status == 429)
        }
    }
}
