import LatchkeyTestSupport
import Testing

/// What one client can have of what all use: a quarter, unless it is said otherwise.
@Suite(.timeLimit(.minutes(3)), .serialized)
struct ShareTests {
    static let modes = [["--http-threads", "2"], ["--thread-per-connection"]]

    @Test(arguments: Deployment.withoutClusters, modes)
    func `an address has a quarter of the connections, and probes are answered when all are taken`(
        deployment: Deployment,
        flags: [String]
    ) async throws {
        try await deployment.serve(flags + ["--max-connections", "8"]) { site in
            var clients: [HTTPClient] = []
            for address in UInt8(1)...4 {
                for _ in 0..<2 {
                    let client = try site.client(from: address)
                    #expect(try client.request("GET", "/v1/strategies").status == 200)
                    clients.append(client)
                }
                if address < 4 {
                    let refused = try site.client(from: address)
                    let answer = try refused.request("GET", "/v1/strategies")
                    #expect(answer.status == 429)
                    #expect(answer.problem == "too-many-connections-per-address")
                    #expect(answer.text.contains("--max-connections-per-address"))
                    #expect(try refused.isClosed())
                }
            }
            for address in UInt8(1)...5 {
                let answer = try site.ask("GET", "/v1/strategies", from: address)
                #expect(answer.status == 503)
                #expect(answer.problem == "too-many-connections")
                for probe in ["/healthz", "/readyz"] {
                    #expect(try site.ask("GET", probe, from: address).status == 200)
                }
            }
            let metrics = try site.ask("GET", "/metrics", from: 5).text
            #expect(
                metrics.contains("\nlatchkey_http_connections_refused_per_address_total 3\n")
            )
            withExtendedLifetime(clients) {}
        }
    }

    @Test(arguments: Deployment.withoutClusters, modes)
    func `a client beyond its rate is told when to come again`(
        deployment: Deployment,
        flags: [String]
    ) async throws {
        let rate = ["--rate", "1"]
        try await deployment.serve(flags + rate, limits: "rate-burst=2") { site in
            let target = "/v1/properties/a"
            #expect(try site.ask("PUT", target, "1").status == 201)
            #expect(try site.ask("GET", target).status == 200)
            for (method, body) in [("GET", nil), ("PUT", "2")] as [(String, String?)] {
                let refused = try site.ask(method, target, body)
                #expect(refused.status == 429 && refused.problem == "rate-exceeded")
                #expect(refused.headers["retry-after"] == "1")
            }
            // Not another one's, nor a probe.
            #expect(try site.ask("GET", target, from: 2).text == "1")
            #expect(try site.ask("GET", "/readyz").status == 200)
            try site.awaitMetric("latchkey_rate_exceeded_total", 2)
            try eventually("there is room again") { try site.ask("GET", target).status == 200 }
        }
    }

    /// A refusal at once would cost as much as an answer.
    @Test(arguments: Deployment.withoutClusters)
    func `a client that does not wait is not served refusals without end`(
        deployment: Deployment
    ) async throws {
        try await deployment.serve(["--rate", "1"]) { site in
            let requests: [(String, String, [UInt8]?)] = [
                ("GET", "/v1/properties/a", nil), ("PUT", "/v1/properties/a", [0x31]),
                ("DELETE", "/v1/properties/a", nil), ("GET", "/nothing", nil),
            ]
            for (method, target, body) in requests {
                let client = try site.client()
                let start = ContinuousClock.now
                var count = 0
                while ContinuousClock.now < start + .seconds(1) {
                    let status = try client.request(method, target, body: body).status
                    count += status == 429 ? 1 : 0
                }
                #expect((1...11).contains(count), "\(method) \(target)")
            }
            // One with a body that nothing asked for is closed.
            for target in ["/nothing", "/v1/import"] {
                let type = ["Content-Type: application/x-ndjson"]
                var status = 0
                for _ in 0..<20 where status != 429 {
                    let client = try site.client()
                    status = try client.request("POST", target, headers: type, body: [0x31]).status
                    if status == 429 { #expect(try client.isClosed()) }
                }
                #expect(status == 429, "\(target)")
            }
        }
    }

    /// Before, those that were refused counted, too.
    @Test(arguments: Deployment.withoutClusters, modes)
    func `an address that has its share takes no place from others, however often it connects`(
        deployment: Deployment,
        flags: [String]
    ) async throws {
        let bounds = ["--max-connections", "8", "--max-connections-per-address", "2"]
        try await deployment.serve(flags + bounds) { site in
            let greedy = try (0..<20).map { _ in try site.client() }
            #expect(try greedy[0].request("GET", "/healthz").status == 200)
            // It is there once the last one of them was refused.
            try site.awaitMetric("latchkey_http_connections_refused_total", 18, from: 2)
            #expect(try site.ask("GET", "/v1/strategies", from: 2).status == 200)
            withExtendedLifetime(greedy) {}
        }
    }

    @Test(arguments: Deployment.allCases)
    func `an address has a quarter of the watches and long polls`(
        deployment: Deployment
    ) async throws {
        try await deployment.serve(["--max-watchers", "8"]) { site in
            var watches: [EventStreamClient] = []
            var polls: [HTTPClient] = []
            for address in UInt8(1)...4 {
                watches.append(try EventStreamClient(port: site.port, "/v1/watch", from: address))
                let poll = try site.client(from: address)
                try poll.send(
                    "GET /v1/properties/a?after=0&wait=60 HTTP/1.1\r\nHost: localhost\r\n\r\n"
                )
                try site.awaitMetric("latchkey_watchers", 2 * Int(address))
                for target in ["/v1/watch", "/v1/properties/a?after=0&wait=60"] {
                    let answer = try site.ask("GET", target, from: address)
                    let problem = address < 4 ? "client-share-taken" : "too-many-watchers"
                    #expect(answer.problem == problem)
                    #expect(answer.status == (address < 4 ? 429 : 503))
                    #expect(answer.headers["retry-after"] == "1")
                    #expect(answer.text.contains("--max-watchers"))
                }
                if address == 1 {
                    // Its poll ends with a change, and gives its place back.
                    _ = try site.ask("PUT", "/v1/properties/a", "1")
                    #expect(try poll.answer().status == 200)
                    _ = try site.ask("DELETE", "/v1/properties/a")
                    try poll.send(
                        "GET /v1/properties/a?after=0&wait=60 HTTP/1.1\r\nHost: localhost\r\n\r\n"
                    )
                    try site.awaitMetric("latchkey_watchers", 2)
                }
                polls.append(poll)
            }
            let metrics = try site.ask("GET", "/metrics").text
            let refusals = #"latchkey_client_share_refusals_total{resource="watches"} 6"#
            #expect(metrics.contains("\n\(refusals)\n"))
            watches[0].close()
            try site.awaitMetric("latchkey_watchers", 7)
            let next = try EventStreamClient(port: site.port, "/v1/watch", from: 1)
            #expect(next.status == 200)
            withExtendedLifetime(polls) {}
        }
    }

    @Test(arguments: Deployment.withoutClusters)
    func `tokens behind one address have connections of their own`(
        deployment: Deployment
    ) async throws {
        let tokens = try Tokens(["a": ["read"], "b": ["read"]])
        try await deployment.serve(tokens.flags + ["--max-connections", "16"]) { site in
            func connect(_ name: String) throws -> (client: HTTPClient, answer: HTTPAnswer) {
                let client = try site.client()
                let headers = tokens.headers(name)
                return (client, try client.request("GET", "/v1/properties", headers: headers))
            }
            let kept = try ["a", "b"].flatMap { name in try (0..<4).map { _ in try connect(name) } }
            #expect(kept.allSatisfy { $0.answer.status == 200 })
            for open in ["/healthz", "/readyz", "/metrics"] {
                let answer = try site.ask("GET", open, headers: tokens.headers("a"))
                #expect(answer.status == 200, "\(open)")
            }
            let refused = try connect("a")
            #expect(refused.answer.problem == "client-share-taken")
            #expect(refused.answer.text.contains("4 connections"))
            #expect(try refused.client.isClosed())
            // A connection belongs to the token that it was used with last.
            let moved = try kept[0].client
                .request("GET", "/v1/properties", headers: tokens.headers("b"))
            #expect(moved.status == 429)
            #expect(try kept[0].client.isClosed())
            // The client sees the end of its connection before the service has freed the place.
            var next = try connect("a")
            try eventually("the place is free") {
                if next.answer.status == 429 { next = try connect("a") }
                return next.answer.status == 200
            }
            // Those without a token have the share of their address, once nothing that was refused
            // holds a place of it. The one that asks is among the nine.
            try eventually("nine connections are open") {
                let metrics = try site.ask("GET", "/metrics", headers: tokens.headers("b"), from: 2)
                let counts = metrics.text.matches(of: /\nlatchkey_http_connections\{.*\} (\d+)/)
                return counts.compactMap { Int($0.1) }.reduce(0, +) == 9
            }
            let others = try (0..<4).map { _ in try site.client() }
            for other in others { #expect(try other.request("GET", "/healthz").status == 200) }
            let refusedToo = try site.ask("GET", "/v1/strategies")
            #expect(refusedToo.problem == "too-many-connections-per-address")
            withExtendedLifetime((kept, next, others)) {}
        }
    }

    @Test(arguments: Deployment.allCases)
    func `an address has a quarter of the exports`(deployment: Deployment) async throws {
        try await deployment.serve { site in
            try site.fill()
            var exports: [LoopbackConnection] = []
            for address in UInt8(1)...2 {
                for _ in 0..<2 {
                    let connection = try LoopbackConnection(port: site.port, from: address)
                    let request = "GET /v1/export HTTP/1.1\r\nHost: localhost\r\n\r\n"
                    #expect(connection.send(request.utf8))
                    #expect(connection.receive()?.isEmpty == false)
                    exports.append(connection)
                }
                let refused = try site.ask("GET", "/v1/export", from: address)
                #expect(refused.status == 429)
                #expect(refused.problem == "client-share-taken")
                #expect(refused.text.contains("exports"))
            }
            for connection in exports {
                connection.reset()
            }
            try site.await("latchkey_http_connections{state=\"streaming\"}", "0")
        }
    }

    @Test(arguments: Deployment.allCases)
    func `an address has a quarter of the idempotency keys`(deployment: Deployment) async throws {
        try await deployment.serve(limits: "max-idempotency-keys=8") { site in
            func put(_ key: String, from address: UInt8) throws -> HTTPAnswer {
                let headers = ["Idempotency-Key: \(key)"]
                return try site.ask("PUT", "/v1/properties/a", "1", headers: headers, from: address)
            }
            for address in UInt8(1)...4 {
                #expect(try put("\(address)-1", from: address).status < 300)
                #expect(try put("\(address)-2", from: address).status < 300)
                let refused = try put("\(address)-3", from: address)
                let problem = address < 4 ? "client-share-taken" : "too-many-idempotency-keys"
                #expect(refused.problem == problem)
                #expect(refused.status == (address < 4 ? 429 : 503))
                #expect(refused.text.contains("--idempotency-bytes"))
            }
            #expect(try put("5", from: 5).problem == "too-many-idempotency-keys")
        }
    }

    @Test(arguments: Deployment.allCases)
    func `only a trusted proxy speaks for others`(
        deployment: Deployment
    ) async throws {
        let flags = ["--trusted-proxy", "127.0.0.9/32", "--max-connections", "40"]
        try await deployment.serve(flags, limits: "max-idempotency-keys=8") { site in
            func put(_ key: String, _ forwarded: String, from address: UInt8) throws -> Int {
                let headers = ["Idempotency-Key: \(key)", "X-Forwarded-For: \(forwarded)"]
                return try site.ask("PUT", "/v1/properties/a", "1", headers: headers, from: address)
                    .status
            }
            // More than a quarter of the connections.
            let clients = try (0..<20).map { _ in try site.client(from: 9) }
            for client in clients {
                #expect(try client.request("GET", "/v1/strategies").status == 200)
            }
            for client in ["10.0.0.1", "10.0.0.2"] {
                #expect(try put("\(client)-1", client, from: 9) < 300)
                #expect(try put("\(client)-2", "1.2.3.4, \(client)", from: 9) < 300)
                #expect(try put("\(client)-3", client, from: 9) == 429)
                #expect(try put("\(client)-4", "10.0.0.3, \(client)", from: 9) == 429)
            }
            // The header is ignored if the sender is no trusted proxy.
            #expect(try put("1", "10.0.0.4", from: 1) < 300)
            #expect(try put("2", "10.0.0.5", from: 1) < 300)
            #expect(try put("3", "10.0.0.6", from: 1) == 429)
        }
    }

    @Test(arguments: Deployment.allCases)
    func `a share of 1 is no bound`(deployment: Deployment) async throws {
        let flags = ["--client-share", "1/1", "--max-connections", "8", "--max-watchers", "4"]
        try await deployment.serve(flags) { site in
            let watches = try (0..<4).map { _ in
                try EventStreamClient(port: site.port, "/v1/watch")
            }
            #expect(watches.allSatisfy { $0.status == 200 })
            #expect(try site.ask("GET", "/v1/watch").problem == "too-many-watchers")
        }
    }
}
