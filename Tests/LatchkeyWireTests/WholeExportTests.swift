import LatchkeyTestSupport
import Testing

/// Exports that are cut off: each is noticed.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct WholeExportTests {
    /// The answer to a refused import.
    private struct Refusal: Equatable {
        let problem: String?
        let line: Int?
        let imported: Int?
        /// How many properties are there afterwards.
        let stored: Int

        init(_ problem: String, line: Int, applied: Int) {
            (self.problem, self.line, imported, stored) = (problem, line, applied, applied)
        }

        /// Imports into a site without properties.
        init(_ site: Site, _ lines: some Sequence<UInt8>, _ query: String = "?batch=10") throws {
            let client = try site.client()
            let answer = try client.request("POST", "/v1/import\(query)", body: Array(lines))
            #expect(answer.status == 400, "\(answer.text)")
            let object = try #require(answer.json as? [String: Any])
            problem = answer.problem
            line = object["line"] as? Int
            imported = object["imported"] as? Int
            let left = try site.exported().lines
            stored = left.count
            for line in left {
                #expect(try site.ask("DELETE", "/v1/properties/\(line.name)").status == 204)
            }
        }
    }

    private static func end(_ count: Int) -> String { "{\"end\":true,\"count\":\(count)}\n" }

    @Test func `an export that is cut at any byte is refused, over HTTP 1.0 too`() async throws {
        try await Deployment.inProcess.serve { site in
            try site.imported(manyLines(0..<25) { "[\"\($0)\"]" })
            let revision = try site.exported().revision
            // Without chunks, nothing but the end of the connection ends the body.
            let request = "GET /v1/export HTTP/1.0\r\nHost: localhost\r\n\r\n"
            let answer = try site.sending(request).answer()
            #expect(answer.headers["transfer-encoding"] == nil)
            let body = answer.body
            #expect(answer.text.hasSuffix("{\"end\":true,\"count\":25,\"revision\":\(revision)}\n"))
            for line in try site.exported().lines {
                _ = try site.ask("DELETE", "/v1/properties/\(line.name)")
            }
            let cuts = Array(stride(from: 0, to: body.count - 80, by: 7))
            for count in cuts + Array(body.count - 80..<body.count - 1) {
                let lines = body[..<count].count { $0 == 0x0A }
                // A line may be whole except for its line feed.
                let missing = body[count] == 0x0A ? lines + 2 : lines + 1
                let applied = min(20, lines / 10 * 10)
                let found = try Refusal(site, body[..<count])
                let expected = Refusal("incomplete-import", line: missing, applied: applied)
                #expect(found == expected, "\(count) of \(body.count) bytes")
            }
            // The line feed after the last line may be missing.
            for whole in [body.dropLast(), body[...]] {
                let text = String(decoding: whole, as: UTF8.self)
                #expect(try site.ask("POST", "/v1/import", text).status == 200)
                #expect(try site.exported().lines.count == 25)
            }
        }
    }

    @Test func `the last line counts the lines, and nothing follows it`() async throws {
        try await Deployment.inProcess.serve { site in
            let lines = manyLines(0..<25) { "\($0)" }
            for count in [24, 26, 0] {
                let found = try Refusal(site, (lines + Self.end(count)).utf8)
                #expect(found == Refusal("incomplete-import", line: 26, applied: 20))
            }
            let more = manyLines(25..<26) { "\($0)" }
            // In the batch of the end, and in the next one.
            for (first, applied) in [(25, 20), (29, 29)] {
                let text = manyLines(0..<first) { "\($0)" } + Self.end(first)
                for tail in [more, "x", Self.end(first)] {
                    let found = try Refusal(site, (text + "\n" + tail).utf8)
                    let expected = Refusal("invalid-line", line: first + 3, applied: applied)
                    #expect(found == expected, "\(tail) after \(first) lines")
                }
            }
            for (text, problem, line) in [
                ("", "incomplete-import", 1), ("\n\n", "incomplete-import", 3),
                // A line in the middle that is wrong is told as such.
                ("x\n\(lines)", "invalid-line", 1),
            ] {
                #expect(try Refusal(site, text.utf8) == Refusal(problem, line: line, applied: 0))
            }
        }
    }

    @Test func `lines are whole wherever their batches end`() async throws {
        try await Deployment.inProcess.serve { site in
            var revision = 0
            for count in [0, 1, 9, 10, 11, 20] {
                let lines = manyLines(0..<count) { "\($0)" } + Self.end(count) + "\n \r\n"
                let result = try site.imported(lines, query: "?batch=10")
                revision += (count + 9) / 10
                #expect(result == (count, revision), "\(count) lines")
            }
        }
    }

    @Test func `a part of an export is imported if the client says so`() async throws {
        try await Deployment.inProcess.serve { site in
            let lines = manyLines(0..<25) { "\($0)" }
            for text in [lines, Self.end(3) + lines, lines + Self.end(7) + Self.end(8) + lines] {
                for batch in [1, 10, 1000] {
                    let query = "?partial=true&batch=\(batch)"
                    let count = text.split(separator: "\n").count { $0.hasPrefix("{\"name") }
                    #expect(try site.imported(text, query: query).count == count)
                }
            }
            #expect(try site.exported().lines.count == 25)
            let before = try site.exported().revision
            #expect(try site.imported(Self.end(3)) == (0, before))
            let answer = try site.ask("POST", "/v1/import?partial=false", lines)
            #expect(answer.problem == "incomplete-import")
        }
    }

    @Test func `an export of an earlier revision is whole, too`() async throws {
        try await Deployment.inProcess.serve { site in
            try site.imported(manyLines(0..<25) { "\($0)" })
            let past = try site.exported().revision
            for number in 0..<25 {
                let name = "k\(100_000 + number)"
                #expect(try site.ask("DELETE", "/v1/properties/\(name)").status == 204)
            }
            let text = try site.ask("GET", "/v1/export?revision=\(past)").text
            #expect(text.hasSuffix("{\"end\":true,\"count\":25,\"revision\":\(past)}\n"))
            #expect(try site.imported(text, query: "").count == 25)
            let some = try site.ask("GET", "/v1/export?revision=\(past)&prefix=k10000").text
            #expect(some.hasSuffix("{\"end\":true,\"count\":10,\"revision\":\(past)}\n"))
        }
    }
}
