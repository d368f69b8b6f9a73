import LatchkeyTestSupport
import Testing

/// Imports, and exports of what was imported.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct ImportTests {
    @Test(arguments: Deployment.allCases)
    func `imported properties are exported, and can be imported again`(
        deployment: Deployment
    ) async throws {
        try await deployment.serve { site in
            let lines =
                "{\"name\":\"b\\\"\\\\\",\"value\":{\"x\": [1, \"\\n\"]}}\r\n"
                + "\r\n  \n{\"name\":\"\\u00e9\",\"value\" : null ,\"ttl\":1000.5}\n"
                + "{\"created\":9,\"revision\":9,\"value\":1.50,\"name\":\"a\"}\n"
                + "{\"name\":\"c\",\"value\":1}\n{\"name\":\"c\",\"value\":2}"
            #expect(try site.imported(lines) == (5, 1))
            let first = try site.exported()
            #expect(
                first.values
                    == ["b\"\\": "{\"x\": [1, \"\\n\"]}", "é": "null", "a": "1.50", "c": "2"]
            )
            #expect(first.lines.allSatisfy { $0.revision == 1 && $0.created == 1 })
            let text = try site.ask("GET", "/v1/export").text
            #expect(try site.imported(text, query: "") == (4, 2))
            let second = try site.exported()
            #expect(second.values == first.values)
            #expect(second.lines.allSatisfy { $0.revision == 2 && $0.created == 1 })
            #expect(second.lines.filter { $0.ttl != nil }.map(\.name) == ["é"])
            let left = second.lines.compactMap(\.ttl)
            #expect(left.allSatisfy { $0 > 900 && $0 <= 1000.5 })
        }
    }

    @Test(arguments: Deployment.allCases)
    func `a bad line ends the import, and the batches before it stay`(
        deployment: Deployment
    ) async throws {
        try await deployment.serve { site in
            let good = manyLines(0..<25) { "\($0)" }
            let after = manyLines(30..<3000) { "\($0)" }
            for (bad, word) in [
                ("{\"name\":\"x\",\"value\":}", "JSON"), ("[]", "object"), ("\u{FEFF}{}", "JSON"),
                ("{\"name\":\"\",\"value\":1}", "empty"), ("{\"name\":\"x\"}", "value"),
                ("{\"name\":\"x\",\"value\":1,\"ttl\":0}", "ttl"),
                ("{\"name\":\"x\",\"value\":1,\"x\":1}", "members"),
                ("{\"name\":\"x\",\"value\":1,\"value\":2}", "twice"),
                ("{\"end\":true}", "last line"),
            ] {
                let body = good + bad + "\n" + after
                let answer = try site.ask("POST", "/v1/import?batch=10&partial=true", body)
                #expect(answer.problem == "invalid-line" && answer.status == 400)
                let object = try #require(answer.json as? [String: Any])
                #expect(object["line"] as? Int == 26)
                #expect(object["imported"] as? Int == 20)
                #expect((object["detail"] as? String)?.contains(word) == true)
                #expect(try site.exported().lines.count == 20)
            }
        }
    }

    @Test func `a line is whole wherever the pieces of the body end`() async throws {
        try await Deployment.inProcess.serve { site in
            let body = Array(
                "{\"name\":\"a\",\"value\":\"é\"}\r\n\n{\"name\":\"b\",\"value\":[1]}".utf8
            )
            let client = try site.client()
            for cut in 1..<body.count {
                try client.send(
                    "POST /v1/import?partial=true HTTP/1.1\r\nHost: localhost\r\n"
                        + "Transfer-Encoding: chunked\r\n\r\n"
                )
                for piece in [body[..<cut], body[cut...]] {
                    try client.send("\(String(piece.count, radix: 16))\r\n")
                    try client.send(Array(piece) + [0x0D, 0x0A])
                }
                try client.send("0\r\n\r\n")
                let answer = try client.answer()
                #expect(answer.text == "{\"imported\":2,\"revision\":\(cut)}")
            }
            #expect(try site.exported().values == ["a": "\"é\"", "b": "[1]"])
        }
    }

    @Test(arguments: [Deployment.inProcess, .oneReplica])
    func `the bounds of an import`(deployment: Deployment) async throws {
        let flags = ["--max-body-bytes", "1000", "--max-properties", "150"]
        try await deployment.serve(flags) { site in
            for body in [nil, "", "\n\r\n \n"] {
                let nothing = try site.ask("POST", "/v1/import?partial=true", body)
                #expect(nothing.text == "{\"imported\":0,\"revision\":0}")
            }
            for query in ["batch=0", "batch=1001", "batch=x", "batch=", "partial=", "partial=1"] {
                let answer = try site.ask("POST", "/v1/import?\(query)", "")
                #expect(answer.problem == "invalid-query", "\(query)")
            }
            for (field, status) in [
                ("Type: application/x-ndjson", 200), ("Type: application/jsonl", 200),
                ("Type: application/json-lines; charset=utf-8", 200),
                ("Type: application/json", 415), ("Encoding: gzip", 415),
                ("Type: application/x-ndjson; charset=latin1", 415),
            ] {
                let fields = ["Content-\(field)"]
                let answer = try site.ask("POST", "/v1/import?partial=true", "\n", headers: fields)
                #expect(answer.status == status, "\(field)")
            }
            // Longer than what is read of another request only to be able to answer it.
            let endless = String(repeating: "x\n", count: 1 << 20)
            for (query, type, status) in [
                ("?partial=true", "text/csv", 415), ("?batch=0", "application/x-ndjson", 400),
            ] {
                let fields = ["Content-Type: \(type)"]
                let answer = try site.ask("POST", "/v1/import\(query)", endless, headers: fields)
                #expect(answer.status == status, "\(answer.text)")
            }
            let start = "{\"name\":\"a\",\"value\":\""
            let long = start + String(repeating: "x", count: 1000 - start.count - 2) + "\"}"
            #expect(try site.imported(long + "\n" + long) == (2, 2), "a full batch ends early")
            let longer = try site.ask("POST", "/v1/import?partial=true", "\n" + long + " ")
            #expect(longer.problem == "invalid-line")
            #expect((longer.json as? [String: Any])?["line"] as? Int == 2)
            let (some, more) = (manyLines(0..<100) { "\($0)" }, manyLines(100..<200) { "\($0)" })
            #expect(try site.imported(some, query: "?batch=1000&partial=true").count == 100)
            let full = try site.ask("POST", "/v1/import?batch=20&partial=true", more)
            #expect(full.problem == "store-full")
            let object = try #require(full.json as? [String: Any])
            #expect(object["line"] as? Int == 41)
            #expect(object["imported"] as? Int == 40)
            #expect(try site.exported().lines.count == 141)
        }
    }

    @Test(arguments: Deployment.strategies)
    func `a client that goes leaves whole batches`(deployment: Deployment) async throws {
        try await deployment.serve { site in
            let length = ["Content-Length: 100000"]
            let target = "/v1/import?batch=10&partial=true"
            let client = try site.asking("POST", target, headers: length)
            try client.send(manyLines(0..<25) { "\($0)" })
            try site.await("latchkey_store_properties", "20")
            client.close()
            try site.await("latchkey_http_connections{state=\"receiving\"}", "0")
            #expect(try site.exported().lines.count == 20)
        }
    }

    @Test func `a backlog that is full delays an import`() async throws {
        let flags = ["--strategy", "serial-queue-async", "--backlog", "1", "--stripes", "1"]
        try await Deployment.inProcess.serve(flags) { site in
            let haveEnded = TestThread.run(4) { number in
                let lines = manyLines(number * 1000..<(number + 1) * 1000) { "\($0)" }
                let result = try? site.imported(lines, query: "?batch=5&partial=true")
                #expect(result?.count == 1000)
            }
            #expect(haveEnded)
            let state = try site.exported()
            #expect(state.lines.count == 4000)
        }
    }
}
