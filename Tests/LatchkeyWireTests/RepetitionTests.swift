import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// Many clients that repeat one request at once.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct RepetitionTests {
    @Test(arguments: Deployment.allCases)
    func `two hundred repeats of one increment add once`(deployment: Deployment) async throws {
        try await deployment.serve { site in
            let answers = Synchronized<[HTTPAnswer], LockStrategy>([])
            let increment = "/v1/properties/visits/increment"
            let ended = TestThread.run(200) { _ in
                let headers = ["Idempotency-Key: 8e03978e-40d5-43e8"]
                if let answer = try? site.ask("POST", increment, headers: headers) {
                    answers.write { $0.append(answer) }
                }
            }
            #expect(ended)
            let all = answers.read { $0 }
            #expect(all.count == 200)
            #expect(all.allSatisfy { $0.text == "1" && $0.headers["etag"] == "\"1\"" })
            #expect(all.count { $0.headers["idempotency-replayed"] == nil } == 1)
            #expect(try site.ask("GET", "/v1/properties/visits").text == "1")
            let metrics = try site.ask("GET", "/metrics").text.split(separator: "\n")
            #expect(metrics.contains("latchkey_idempotency_keys 1"))
            #expect(metrics.contains("latchkey_idempotency_replays_total 199"))
        }
    }

    /// A client reads long values with keys, which are kept for the time of the keys.
    @Test func `five long answers keep out no new key`() async throws {
        try await Deployment.inProcess.serve { site in
            let value = "\"\(String(repeating: "x", count: 1_000_000))\""
            #expect(try site.ask("PUT", "/v1/properties/long", value).status == 201)
            let gets = Array(repeating: #"{"get":"long"}"#, count: 16).joined(separator: ",")
            for number in 0..<5 {
                let headers = ["Idempotency-Key: \(number)"]
                let body = #"{"then":[\#(gets)]}"#
                let answer = try site.ask("POST", "/v1/transactions", body, headers: headers)
                #expect(answer.status == 200 && answer.body.count > 16_000_000)
            }
            // Bodies that never end take no keys.
            let unfinished = try (0..<5).map { number in
                let fields = ["Idempotency-Key: body-\(number)", "Content-Length: 1000000"]
                let client = try site.asking("PUT", "/v1/properties/long", headers: fields)
                try client.send("[1")
                return client
            }
            let key = ["Idempotency-Key: n"]
            let answer = try site.ask("PUT", "/v1/properties/a", "1", headers: key)
            #expect(answer.status == 201, "\(answer.text)")
            let metrics = try site.ask("GET", "/metrics").text.split(separator: "\n")
            let bytes = metrics.first { $0.hasPrefix("latchkey_idempotency_bytes ") }
            let count = bytes.flatMap { Double($0.split(separator: " ")[1]) } ?? .infinity
            #expect(count <= 67_108_864, "\(count)")
            #expect(metrics.contains("latchkey_idempotency_keys 6"))
            withExtendedLifetime(unfinished) {}
        }
    }

    @Test(arguments: [Deployment.inProcess, .oneReplica])
    func `an answer beyond the bound of bytes is not kept, and its write is made once`(
        deployment: Deployment
    ) async throws {
        try await deployment.serve(["--idempotency-bytes", "65536"]) { site in
            let value = "{\"text\":\"\(String(repeating: "x", count: 100_000))\"}"
            #expect(try site.ask("PUT", "/v1/properties/long", value).status == 201)
            let headers = ["Idempotency-Key: k", "Content-Type: application/merge-patch+json"]
            func patch() throws -> HTTPAnswer {
                try site.ask("PATCH", "/v1/properties/long", "{\"a\":1}", headers: headers)
            }
            let first = try patch()
            #expect(first.status == 200 && first.body.count > 100_000)
            let second = try patch()
            #expect(second.status == 500)
            #expect(second.problem == "answer-not-kept")
            #expect(second.headers["idempotency-replayed"] == "true")
            let now = try site.ask("GET", "/v1/properties/long")
            #expect(now.headers["etag"] == first.headers["etag"])
        }
    }

    @Test(arguments: [Deployment.inProcess, .oneReplica])
    func `a repeat that waits less long ends the wait of the first one, and a wrong wait does not`(
        deployment: Deployment
    ) async throws {
        try await deployment.serve { site in
            let first = try Self.popping(site, "59")
            try site.awaitMetric("latchkey_watchers", 1)
            let wrong = try Self.popping(site, "banana")
            try site.awaitMetric("latchkey_http_suspended_requests", 2)
            try site.awaitMetric("latchkey_watchers", 1)
            let last = try Self.popping(site, "0.5")
            for each in [first, last] { #expect(try each.answer().problem == "not-found") }
            #expect(try wrong.answer().problem == "invalid-query")
        }
    }

    /// The second request runs once the first one has gone, and the last one waits for it.
    @Test func `a repeat that waits less long ends the wait of the next one, too`() async throws {
        try await Deployment.inProcess.serve { site in
            let first = try Self.popping(site, "59")
            try site.awaitMetric("latchkey_watchers", 1)
            let second = try Self.popping(site, "58")
            try site.awaitMetric("latchkey_http_suspended_requests", 2)
            let last = try Self.popping(site, "5")
            try site.awaitMetric("latchkey_http_suspended_requests", 3)
            first.close()
            for each in [second, last] { #expect(try each.answer().problem == "not-found") }
        }
    }

    private static func popping(_ site: Site, _ wait: String) throws -> HTTPClient {
        let headers = ["Idempotency-Key: k"]
        return try site.asking("POST", "/v1/pop?prefix=q&wait=\(wait)", headers: headers)
    }
}
