import LatchkeyTestSupport
import Testing

/// The share of one client in the limits for all: a quarter, unless a flag changes it.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct ShareTests {
    @Test
    func `an address has a quarter of the connections, and probes are answered when all are taken`()
        async throws
    {
        try await Deployment.inProcess.serve(["--max-connections", "8"]) { site in
            var clients: [HTTPClient] = []
            for address in UInt8(1)...4 {
                for _ in 0..<2 {
                    let client = try site.client(from: address)
                    #expect(try client.request("GET", "/v1/strategies").status == 200)
                    clients.append(client)
                }
                guard address < 4 else { break }
                let refused = try site.client(from: address)
                let answer = try refused.request("GET", "/v1/strategies")
                #expect(answer.status == 429)
                #expect(answer.problem == "too-many-connections-per-address")
                #expect(try refused.isClosed())
            }
            // A refused client takes no place from others, however often it connects.
            for address in UInt8(1)...5 {
                let answer = try site.ask("GET", "/v1/strategies", from: address)
                #expect(answer.status == 503 && answer.problem == "too-many-connections")
                #expect(try site.ask("GET", "/readyz", from: address).status == 200)
            }
            let metrics = try site.ask("GET", "/metrics", from: 5).text
            #expect(metrics.contains("\nlatchkey_http_connections_refused_per_address_total 3\n"))
            withExtendedLifetime(clients) {}
        }
    }

    @Test func `an address has a quarter of the watches and long polls`() async throws {
        try await Deployment.inProcess.serve(["--max-watchers", "8"]) { site in
            let wait = "/v1/properties/a?after=0&wait=60"
            var watches: [EventStreamClient] = []
            var polls: [HTTPClient] = []
            for address in UInt8(1)...4 {
                watches.append(try site.stream("/v1/watch", from: address))
                let poll = try site.asking("GET", wait, from: address)
                polls.append(poll)
                try site.awaitMetric("latchkey_watchers", 2 * Int(address))
                for target in ["/v1/watch", wait] {
                    let answer = try site.ask("GET", target, from: address)
                    let problem = address < 4 ? "client-share-taken" : "too-many-watchers"
                    #expect(answer.problem == problem)
                    #expect(answer.headers["retry-after"] == "1")
                }
            }
            // A poll ends with a change, and gives its place back, as a client that goes does.
            _ = try site.ask("PUT", "/v1/properties/a", "1")
            for poll in polls { #expect(try poll.answer().status == 200) }
            watches[0].close()
            try site.awaitMetric("latchkey_watchers", 3)
            #expect(try site.stream("/v1/watch", from: 1).status == 200)
            withExtendedLifetime(polls) {}
        }
    }

    @Test func `tokens behind one address have connections of their own`() async throws {
        let tokens = try Tokens(["a": ["read"], "b": ["read"]])
        try await Deployment.inProcess.serve(tokens.flags + ["--max-connections", "16"]) { site in
            func connect(_ name: String) throws -> (client: HTTPClient, answer: HTTPAnswer) {
                let client = try site.with(tokens, name).asking("GET", "/v1/properties")
                return (client, try client.answer())
            }
            let kept = try ["a", "b"].flatMap { name in try (0..<4).map { _ in try connect(name) } }
            #expect(kept.allSatisfy { $0.answer.status == 200 })
            let refused = try connect("a")
            #expect(refused.answer.problem == "client-share-taken")
            #expect(refused.answer.text.contains("4 connections"))
            #expect(try refused.client.isClosed())
            // A connection belongs to the token that it was used with last.
            let other = tokens.headers("b")
            let moved = try kept[0].client.request("GET", "/v1/properties", headers: other)
            #expect(moved.status == 429)
            // The client sees the end of its connection before the service has freed the place.
            var next = try connect("a")
            try eventually("the place is free") {
                if next.answer.status == 429 { next = try connect("a") }
                return next.answer.status == 200
            }
            withExtendedLifetime((kept, next)) {}
        }
    }

    @Test func `an address has a quarter of the exports and of the idempotency keys`() async throws
    {
        let limits = "max-exports=8,max-idempotency-keys=8"
        try await Deployment.inProcess.serve(limits: limits) { site in
            try site.fill()
            let exports = try (0..<2).map { _ in
                let client = try site.asking("GET", "/v1/export")
                #expect(try client.head().status == 200)
                return client
            }
            #expect(try site.ask("GET", "/v1/export").problem == "client-share-taken")
            for client in exports { client.reset() }
            for address in UInt8(1)...4 {
                let problems = try (1...3).map { number in
                    let key = ["Idempotency-Key: \(address)-\(number)"]
                    return try site.ask("PUT", "/v1/properties/a", "1", headers: key, from: address)
                        .problem
                }
                let last = address < 4 ? "client-share-taken" : "too-many-idempotency-keys"
                #expect(problems == [nil, nil, last])
            }
        }
    }

    @Test func `only a trusted proxy speaks for others`() async throws {
        let flags = ["--trusted-proxy", "127.0.0.9/32", "--max-connections", "40"]
        let limits = "max-idempotency-keys=8"
        try await Deployment.inProcess.serve(flags, limits: limits) { site in
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

    /// That tokens have rates of their own, and that there is room again, is tested with clocks.
    @Test func `a client beyond its rate is told when to come again`() async throws {
        let tokens = try Tokens(["one": ["read"], "two": ["read"]])
        let flags = tokens.flags + ["--rate", "1"]
        try await Deployment.inProcess.serve(flags, limits: "rate-burst=2") { site in
            let one = site.with(tokens, "one")
            var (count, refused) = (UInt8(0), try one.ask("GET", "/v1/properties"))
            #expect(refused.status == 200)
            // From whatever address.
            try eventually("it is refused") {
                count += 1
                refused = try one.ask("GET", "/v1/properties", from: 1 + count % 3)
                return refused.status == 429
            }
            #expect(refused.problem == "rate-exceeded" && refused.headers["retry-after"] == "1")
            #expect(try site.with(tokens, "two").ask("GET", "/v1/properties").status == 200)
            #expect(try site.ask("GET", "/readyz").status == 200)
            // Without a token, the address counts, also where there is no route.
            try eventually("it is refused") { try site.ask("GET", "/x", from: 4).status == 429 }
        }
    }
}
