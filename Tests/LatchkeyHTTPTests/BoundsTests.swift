import LatchkeyHTTP
import LatchkeyTestSupport
import Testing

@Suite(.timeLimit(.minutes(15)), .offPool)
struct BoundsTests {
    typealias Mode = TestServer.Mode

    private func text(_ count: Int) -> String {
        String(repeating: "a", count: count)
    }

    @Test(arguments: Mode.allCases)
    func `a body at the bound is taken, one byte more is 413`(mode: Mode) async throws {
        let server = try TestServer(mode)
        let most = text(TestServer.bodyBytesMax)
        for make in [{ put("/echo", $0) }, { putChunked("/echo", $0) }] {
            let client = try server.client()
            #expect(client.ask(make(most)).text == most)
            let reply = client.ask(make(most + "a"))
            #expect(reply.status == 413)
            #expect(reply.text == "bodyTooLarge")
            #expect(reply.closes && client.seesEnd())
        }
        let client = try server.client()
        let reply = client.ask(
            "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\nExpect: 100-continue\r\n\r\n"
        )
        #expect(reply.status == 413)
        #expect(reply.closes && client.seesEnd())
        try await server.stop()
    }

    @Test(arguments: Mode.allCases)
    func `a target at the bound is taken, one byte more is 414`(mode: Mode) async throws {
        try await serving(mode) { _, client in
            let most = "/p?" + text(TestServer.targetBytesMax - 3)
            #expect(client.ask(get(most)).status == 200)
            #expect(client.ask(get(most + "a")).status == 414)
            #expect(client.ask(get("/now")).status == 200)
        }
    }

    @Test(arguments: Mode.allCases)
    func `a head at the bound is taken, one byte more is 431`(mode: Mode) async throws {
        try await serving(mode) { _, client in
            let rest = TestServer.headBytesMax - get("/now", "A: \r\n").utf8.count
            #expect(client.ask(get("/now", "A: \(text(rest))\r\n")).status == 200)
            let reply = client.ask(get("/now", "A: \(text(rest + 1))\r\n"))
            #expect(reply.text == "headTooLarge" && reply.closes && client.seesEnd())
        }
    }

    @Test(arguments: Mode.allCases)
    func `a connection over the bound is told so`(mode: Mode) async throws {
        let server = try TestServer(mode) { $0.connectionsMax = 2 }
        // One after the other: event loops accept in whatever order.
        let clients = [try server.client(), try server.client()]
        #expect(clients[0].ask(get("/now")).status == 200)
        #expect(clients[1].ask(get("/now")).status == 200)
        let refused = try server.client()
        let reply = refused.ask(get("/now"))
        #expect(reply.status == 503 && reply.text == "connections")
        #expect(reply.closes && refused.seesEnd())
        clients[0].close()
        try await server.await("one connection") { $0.connections == 1 }
        let next = try server.client()
        #expect(next.ask(get("/now")).status == 200)
        #expect(server.server.statistics.refusedTotal == 1)
        clients[1].close()
        next.close()
        try await server.stop()
    }

    @Test(arguments: Mode.allCases)
    func `connections of one address have a bound of their own`(mode: Mode) async throws {
        let server = try TestServer(mode) { $0.connectionsPerAddressMax = 1 }
        // One after the other: event loops accept in whatever order.
        let first = try server.client()
        #expect(first.ask(get("/now")).status == 200)
        let second = try server.client()
        let reply = second.ask(get("/now"))
        #expect(reply.status == 429 && reply.text == "connectionsOfAddress")
        first.close()
        second.close()
        try await server.stop()
    }

    @Test(arguments: Mode.allCases)
    func `a request that dribbles in is ended with 408`(mode: Mode) async throws {
        let server = try TestServer(mode) {
            $0.requestTimeout = .milliseconds(200)
            $0.hasStandingClock = true
        }
        let starts = [
            "GET /now HT",
            "GET /now HTTP/1.1\r\nA: ",
            "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n",
        ]
        let clients = try starts.map { start in
            let client = try server.client()
            client.send(start)
            return client
        }
        // A byte at a time keeps every idle timer from firing, until the server gives up.
        try await server.pass(until: "late requests") {
            for client in clients { client.send("a") }
            return $0.timedOutTotal == clients.count
        }
        for client in clients {
            let reply = client.read()
            // Nothing can be written past the library where TLS is.
            #expect(mode.isEncrypted || reply.status == 408 && reply.closes)
            #expect(mode.isEncrypted || reply.field("Content-Type") == "application/problem+json")
            #expect(client.seesEnd())
        }
        try await server.stop()
    }

    @Test(arguments: Mode.allCases)
    func `an idle connection is closed without a word`(mode: Mode) async throws {
        let server = try TestServer(mode) { $0.idleTimeout = .seconds(1) }
        let (fresh, used) = (try server.client(), try server.client())
        // On a busy machine the time may be over before the request has come.
        _ = used.ask(get("/now"))
        #expect(fresh.seesEnd() && used.seesEnd())
        #expect(server.server.statistics.timedOutTotal == 2)
        try await server.stop()
    }

    @Test(arguments: Mode.allCases)
    func `a handler may take longer than every deadline`(mode: Mode) async throws {
        let server = try TestServer(mode) {
            $0.idleTimeout = .milliseconds(500)
            $0.requestTimeout = .milliseconds(500)
            $0.hasStandingClock = true
        }
        let client = try server.client()
        client.send(put("/hold", "held"))
        try await server.await("a held request") { $0.suspended == 1 }
        let other = try server.client()
        // The other connection shows that the deadlines have passed.
        try await server.pass(until: "an idle connection") { $0.timedOutTotal == 1 }
        #expect(other.seesEnd())
        server.letGo(1)
        #expect(client.read().text == "held")
        client.close()
        try await server.stop()
    }
}
