import Foundation
import LatchkeyStrategies
import LatchkeySyncTesting
import LatchkeyTestSupport
import Testing

/// `--forward`: a replica sends changes on to its leader.
@Suite(.timeLimit(.minutes(3)))
struct ForwardTests {
    private static let json = "Content-Type: application/json"

    @Test func `a change at the replica is one at the leader, and is seen at once`() async throws {
        try await offPool {
            let pair = try Replication(replica: ["--forward"])
            let (copy, source) = (pair.copy, pair.source)
            // The target has what is part of a name: a slash, a quote, a number sign, é.
            let path = "/v1/properties/a%2F%22%23%C3%A9"
            let put = try copy.ask("PUT", path, "{\"n\": 1}", headers: [Self.json])
            #expect(put.status == 201 && put.body.isEmpty && put.headers["latchkey-age"] != nil)
            let read = try copy.ask("GET", path)
            #expect(read.status == 200 && read.text == "{\"n\": 1}")
            #expect(read.headers["etag"] == put.headers["etag"])
            #expect(try source.ask("GET", path).headers["etag"] == put.headers["etag"])
            // Conditions, and what one that is empty means.
            let tag = try #require(put.headers["etag"])
            for (condition, status) in [
                ("If-Match: \"1\"", 412), ("If-None-Match: *", 412), ("If-Match:", 400),
                ("If-Match: \(tag)", 204),
            ] {
                let answer = try copy.ask("PUT", path, "2", headers: [Self.json, condition])
                #expect(answer.status == status, "\(condition)")
            }
            #expect(try copy.ask("PATCH", path, "{\"m\":2}").text == "{\"m\":2}")
            for number in 1...20 {
                let sum = try copy.ask("POST", "/v1/properties/sum/increment")
                #expect(sum.status == 200 && sum.text == "\(number)")
                #expect(try copy.ask("GET", "/v1/properties/sum").text == "\(number)")
            }
            let body = #"{"then":[{"put":"b","value":1},{"get":"sum"}]}"#
            let transaction = try copy.ask("POST", "/v1/transactions", body)
            #expect(transaction.status == 200 && transaction.text.contains("20"))
            #expect(try copy.ask("DELETE", "/v1/properties/b").status == 204)
            #expect(try copy.ask("GET", "/v1/properties/b").status == 404)
            #expect(try copy.ask("DELETE", "/v1/properties/b").problem == "not-found")
            #expect(try copy.ask("DELETE", "/v1/properties?prefix=s").status == 200)
            #expect(try copy.ask("POST", "/v1/pop?prefix=s").status == 404)
            try pair.awaitLevel()
            #expect(pair.replica.end() == 0 && pair.leader.end() == 0)
        }
    }

    @Test func `a repeat gets the first answer, and mistakes are those of the leader`()
        async throws
    {
        try await offPool {
            let pair = try Replication(replica: ["--forward"])
            let key = ["Idempotency-Key: one"]
            let path = "/v1/properties/n/increment"
            #expect(try pair.copy.ask("POST", path, headers: key).text == "1")
            let repeated = try pair.copy.ask("POST", path, headers: key)
            #expect(repeated.text == "1" && repeated.headers["idempotency-replayed"] == "true")
            #expect(try pair.source.ask("POST", path, headers: key).text == "1")
            #expect(try pair.copy.ask("PUT", "/v1/properties/a", "{").problem == "malformed-json")
            let type = ["Content-Type: text/plain"]
            let wrong = try pair.copy.ask("PUT", "/v1/properties/a", "1", headers: type)
            #expect(wrong.status == 415)
            let gzip = ["Content-Encoding: gzip", Self.json]
            #expect(try pair.copy.ask("PUT", "/v1/properties/a", "1", headers: gzip).status == 415)
            let query = try pair.copy.ask("PUT", "/v1/properties/a?b=1", "1")
            #expect(query.problem == "invalid-query")
            // Without a type, and with that of curl -d: not from a browser.
            let form = ["Content-Type: application/x-www-form-urlencoded"]
            #expect(try pair.copy.ask("PUT", "/v1/properties/a", "1", headers: []).status == 201)
            #expect(try pair.copy.ask("PUT", "/v1/properties/a", "1", headers: form).status == 204)
            let page = form + ["Sec-Fetch-Site: same-origin"]
            #expect(try pair.copy.ask("PUT", "/v1/properties/a", "1", headers: page).status == 415)
            #expect(pair.replica.end() == 0 && pair.leader.end() == 0)
        }
    }

    @Test func `what would wait, or is more than properties, is refused`() async throws {
        try await offPool {
            let pair = try Replication(replica: ["--forward"])
            for path in [
                "/v1/transactions?wait=1", "/v1/pop?prefix=a&wait=1", "/v1/operations",
                "/v1/import",
            ] {
                let answer = try pair.copy.ask("POST", path, "{}")
                #expect(answer.status == 421 && answer.problem == "not-leader", "\(path)")
            }
        }
    }

    @Test func `two replicas do not send a change to each other`() async throws {
        try await offPool {
            let pair = try Replication(replica: ["--forward"])
            pair.leader.signal(SIGKILL)
            _ = pair.leader.wait()
            // On the leader's port there is a replica of its replica now.
            let other = try Program(
                Replication.quiet
                    + [
                        "\(pair.source.port)", "--forward", "--follow",
                        "http://127.0.0.1:\(pair.copy.port)",
                    ]
            )
            _ = try other.awaitPort()
            let answer = try pair.copy.ask("PUT", "/v1/properties/a", "1")
            #expect(answer.status == 421 && answer.problem == "not-leader")
            #expect(answer.headers["latchkey-leader"] == "http://127.0.0.1:\(pair.copy.port)")
        }
    }

    @Test func `a leader that is not reached changes nothing, and one that is silent may have`()
        async throws
    {
        try await offPool {
            let pair = try Replication(replica: ["--forward"])
            pair.leader.signal(SIGSTOP)
            // More than there are lanes: reads go on, and all writes get an answer.
            let statuses = Guarded<[String: Int]>([:])
            let copy = pair.copy
            let writers = (0..<40).map { number in
                TestThread {
                    let answer = try? copy.ask("PUT", "/v1/properties/n\(number)", "1")
                    statuses.write { $0[answer?.problem ?? "none", default: 0] += 1 }
                }
            }
            let start = ContinuousClock.now
            while start.duration(to: .now) < .seconds(1) {
                #expect(try copy.ask("GET", "/v1/properties/a").status == 404)
            }
            for writer in writers { #expect(writer.join()) }
            // Those who waited for a lane too long were not sent.
            #expect(statuses.read { $0 } == ["outcome-unknown": 16, "backlog-full": 24])
            pair.leader.signal(SIGKILL)
            _ = pair.leader.wait()
            let refused = try copy.ask("PUT", "/v1/properties/a", "1")
            #expect(refused.status == 503 && refused.problem == "leader-unreachable")
            #expect(refused.headers["retry-after"] != nil)
            #expect(pair.replica.end() == 0)
        }
    }

    @Test func `a client has its share of the changes that are sent on`() async throws {
        try await offPool {
            let flags = ["--forward", "--client-share", "1/512", "--max-connections-per-address"]
            let pair = try Replication(replica: flags + ["0"])
            pair.leader.signal(SIGSTOP)
            let problems = Guarded<[String: Int]>([:])
            let copy = pair.copy
            // Two of 1,024 places are for one address.
            let writers = [UInt8](arrayLiteral: 1, 1, 1, 2).map { address in
                TestThread {
                    let answer = try? copy.ask("PUT", "/v1/properties/n", "1", from: address)
                    let key = "\(address) \(answer?.status ?? 0) \(answer?.problem ?? "none")"
                    problems.write { $0[key, default: 0] += 1 }
                }
            }
            for writer in writers { #expect(writer.join()) }
            #expect(
                problems.read { $0 } == [
                    "1 429 client-share-taken": 1, "1 500 outcome-unknown": 2,
                    "2 500 outcome-unknown": 1,
                ]
            )
            pair.leader.signal(SIGCONT)
            // Their places are free again.
            #expect(try copy.ask("PUT", "/v1/properties/n", "2").status == 204)
        }
    }

    @Test func `the client's own token decides, at the replica and at the leader`() async throws {
        let tokens = try Tokens([
            "follower": ["read", "export"], "app": ["read", "write:a/"], "reader": ["read"],
        ])
        let other = try Tokens(["guest": ["read", "write"]])
        try await offPool {
            let folder = try TemporaryFolder()
            let certificate = TestCertificate()
            let leader = try Program(
                Replication.quiet + ["0", "--token-file", tokens.path]
                    + folder.tlsFlags(certificate)
            )
            let source = Site(port: try leader.awaitPort())
            try folder.write("token", tokens["follower"] + "\n")
            let flags = [
                "0", "--forward", "--follow", "https://localhost:\(source.port)",
                "--follow-token-from", folder.path + "/token",
                "--follow-ca", folder.path + "/certificate.pem",
            ]
            let open = try Program(Replication.quiet + flags)
            let guarded = try Program(Replication.quiet + flags + ["--token-file", other.path])
            let copy = Site(port: try open.awaitPort())
            let closed = Site(port: try guarded.awaitPort())
            let app = tokens.headers("app")
            #expect(try copy.ask("PUT", "/v1/properties/a%2F1", "1", headers: app).status == 201)
            #expect(try copy.ask("PUT", "/v1/properties/b", "1", headers: app).status == 403)
            let none = try copy.ask("PUT", "/v1/properties/a%2F1", "1")
            #expect(none.status == 401 && none.headers["www-authenticate"] != nil)
            let reader = tokens.headers("reader")
            #expect(try copy.ask("PUT", "/v1/properties/a%2F1", "1", headers: reader).status == 403)
            // The replica does not know the one, and the leader not the other.
            let path = "/v1/properties/a%2F1"
            #expect(try closed.ask("PUT", path, "1", headers: app).status == 401)
            #expect(try closed.ask("PUT", path, "1", headers: other.headers("guest")).status == 401)
            #expect(open.end() == 0 && guarded.end() == 0 && leader.end() == 0)
        }
    }

    @Test func `a promoted replica makes changes itself`() async throws {
        try await offPool {
            let pair = try Replication(replica: ["--forward"])
            #expect(try pair.copy.ask("PUT", "/v1/properties/a", "1").status == 201)
            #expect(try pair.copy.ask("POST", "/v1/promote").status == 200)
            #expect(try pair.copy.ask("PUT", "/v1/properties/a", "2").status == 204)
            #expect(try pair.source.ask("GET", "/v1/properties/a").text == "1")
        }
        let alone = try await Program.result(of: ["serve", "--forward"])
        #expect(alone.status == 2 && alone.errors.contains("no meaning without --follow"))
    }
}
