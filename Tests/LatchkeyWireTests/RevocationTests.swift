import Foundation
import LatchkeyTestSupport
import Testing

/// Long requests while their token loses rights, or becomes invalid.
@Suite(.timeLimit(.minutes(15)))
struct RevocationTests {
    /// A service with these tokens, and what replaces or removes their file.
    private func serve(
        _ tokens: Tokens,
        _ body: @escaping @Sendable (Site, (String?) throws -> Void) throws -> Void
    ) async throws {
        try await Deployment.inProcess.run(tokens.flags) { site, service in
            try body(site) { text in
                if let text {
                    try text.write(toFile: tokens.path, atomically: true, encoding: .utf8)
                } else {
                    try FileManager.default.removeItem(atPath: tokens.path)
                }
                service.reload()
            }
        }
    }

    @Test func `an import of a revoked token stops, and says what it did`() async throws {
        let tokens = try Tokens(["in": ["write", "import"], "see": ["read"]])
        try await serve(tokens) { site, replace in
            let see = site.with(tokens, "see")
            let lines = (0..<3).map { #"{"name":"n\#($0)","value":1}"# + "\n" }
            let length = "Content-Length: \(lines.joined().utf8.count)"
            let client = try site.with(tokens, "in")
                .asking("POST", "/v1/import?partial=true&batch=1", headers: [length])
            try client.send(lines[0])
            try eventually("the first line is there") {
                try see.ask("GET", "/v1/properties/n0").status == 200
            }
            try replace(tokens.lines(without: "in"))
            try client.send(lines[1] + lines[2])
            let answer = try client.answer()
            #expect(answer.status == 401 && answer.text.contains(#""imported":1"#))
            let list = try see.ask("GET", "/v1/properties").text
            #expect(list.contains("n0") && !list.contains("n1"))
        }
    }

    @Test func `an operation whose owner loses a right fails at that step`() async throws {
        let tokens = try Tokens(["one": ["read,write", "operations"]])
        try await serve(tokens) { site, replace in
            let one = site.with(tokens, "one")
            let body =
                #"{"id":"o","steps":[{"put":"a","value":1},{"wait":2},{"put":"b","value":1}]}"#
            #expect(try one.submit(body).status == 202)
            try replace(tokens.lines().replacing(" read,write ", with: " read,write:a "))
            #expect(try one.events(of: "o").states.last == "failed")
            #expect(try one.operation("o").problem == "forbidden")
            #expect(try one.ask("GET", "/v1/properties/a").text == "1")
        }
    }

    @Test func `a refusal is not kept for a key, so that a right can be given`() async throws {
        let tokens = try Tokens(["one": ["read:a"]])
        try await serve(tokens) { site, replace in
            func put() throws -> Int {
                let key = ["Idempotency-Key: k"]
                return try site.with(tokens, "one")
                    .ask("PUT", "/v1/properties/a", "1", headers: key).status
            }
            #expect(try put() == 403)
            try replace(tokens.lines().replacing(" read:a", with: " read,write:a"))
            #expect(try put() == 201)
        }
    }

    @Test func `a grant that changes ends only what is not allowed any more`() async throws {
        let tokens = try Tokens(["one": ["read:a", "read:b"]])
        try await serve(tokens) { site, replace in
            let one = site.with(tokens, "one")
            let watches = try ["a", "b"].map {
                try one.stream("/v1/watch?initial=true&prefix=\($0)")
            }
            let polls = try ["a", "b"].map {
                try one.asking("GET", "/v1/properties/\($0)?after=0&wait=60")
            }
            try one.awaitMetric("latchkey_watchers", 4)
            try replace(tokens.lines().replacing(" read:b", with: " write:a"))
            #expect(try watches[1].events { _ in false }.last?.type == "close")
            #expect(try polls[1].answer().problem == "forbidden")
            #expect(try one.ask("PUT", "/v1/properties/a", "1").status == 201)
            #expect(try polls[0].answer().text == "1")
            let kept = try watches[0].events { $0.type == "put" }.last
            #expect(kept?.data.contains("1") == true)
        }
    }

    @Test func `a file that changes is read again, and what its revoked token had ends`()
        async throws
    {
        let tokens = try Tokens(["old": ["read,write"], "new": ["read"]])
        try await serve(tokens) { site, replace in
            let (old, new) = (site.with(tokens, "old"), site.with(tokens, "new"))
            func statuses() throws -> [Int] {
                try [old, new].map { try $0.ask("GET", "/v1/properties").status }
            }
            let opened = try old.ask("POST", "/v1/session").headers["set-cookie"] ?? ""
            let cookie = ["Cookie: \(opened.prefix { $0 != ";" })"]
            let watch = "/v1/watch?initial=true"
            let lost = [try old.stream(watch), try site.stream(watch, headers: cookie)]
            #expect(lost[1].status == 200)
            let kept = try new.stream(watch)
            let poll = try old.asking("GET", "/v1/properties/a?after=0&wait=60")
            try new.awaitMetric("latchkey_watchers", 4)
            // A file that is not right, not whole, or gone, changes nothing.
            let line = tokens.lines(without: "old")
            for text in ["new sha256:0 read\n", "", String(line.dropLast()), nil] {
                try replace(text)
                #expect(try statuses() == [200, 200])
            }
            try replace(line)
            for watch in lost { #expect(try watch.events { _ in false }.last?.type == "close") }
            let ended = try poll.answer()
            #expect(ended.status == 401 && ended.problem == "unauthorized")
            #expect(ended.headers["www-authenticate"] != nil)
            #expect(try site.ask("GET", "/v1/properties", headers: cookie).status == 401)
            #expect(try statuses() == [401, 200])
            #expect(try kept.next()?.type == "ready")
            // The last token can be revoked, too.
            try replace("# none\n")
            #expect(try statuses() == [401, 401])
            try replace(tokens.lines())
            #expect(try statuses() == [200, 200])
        }
    }
}
