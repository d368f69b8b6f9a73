import Dispatch
import LatchkeyHTTP
import LatchkeyTestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ExchangeTests {
    typealias Mode = TestServer.Mode

    @Test(arguments: Mode.allCases)
    func `a request is answered now or later`(mode: Mode) async throws {
        let server = try TestServer(mode)
        let client = try server.client()
        for _ in 0..<10 {
            #expect(client.ask(get("/now")).body == "now")
            #expect(client.ask(get("/later")).body == "later")
        }
        #expect(server.server.statistics.acceptedTotal == 1)
        client.close()
        try await server.stop()
    }

    @Test(arguments: Mode.allCases)
    func `an answer has its fields, a date and a length`(mode: Mode) async throws {
        let server = try TestServer(mode)
        let client = try server.client()
        let reply = client.ask(get("/now"))
        #expect(reply.status == 200)
        #expect(reply.field("Content-Type") == "text/plain")
        #expect(reply.field("ETag") == "\"18446744073709551615\"")
        #expect(reply.field("Retry-After") == "0")
        #expect(reply.field("X-Text") == "ab")
        for text in ["0.000", "0.007", "1.250", "60.099", "18446744073709551.615"] {
            #expect(reply.head.contains("X-Thousandths: \(text)\r\n"))
        }
        #expect(reply.field("Content-Length") == "3")
        #expect(reply.field("Date") != nil)
        #expect(!reply.closes)
        client.close()
        try await server.stop()
    }

    @Test(arguments: Mode.allCases)
    func `a field cannot smuggle another one in`(mode: Mode) async throws {
        let server = try TestServer(mode)
        let client = try server.client()
        let reply = client.ask(get("/bad-field"))
        #expect(reply.status == 500)
        #expect(!reply.head.contains("Forged"))
        client.close()
        try await server.stop()
    }

    @Test(arguments: Mode.allCases)
    func `the answer to HEAD has the length and no body`(mode: Mode) async throws {
        let server = try TestServer(mode)
        let client = try server.client()
        client.send("HEAD /now HTTP/1.1\r\nHost: x\r\n\r\n" + get("/later"))
        #expect(client.read(headOnly: true).field("Content-Length") == "3")
        #expect(client.read().body == "later")
        client.close()
        try await server.stop()
    }

    @Test(arguments: Mode.allCases)
    func `pipelined requests are answered in order`(mode: Mode) async throws {
        let server = try TestServer(mode)
        let client = try server.client()
        client.send(get("/a") + get("/later") + put("/echo", "b") + get("/later") + get("/c"))
        for body in ["/a ", "later", "b", "later", "/c "] {
            #expect(client.read().body == body)
        }
        client.close()
        try await server.stop()
    }

    @Test(arguments: Mode.allCases)
    func `path and query are handed over as they were sent`(mode: Mode) async throws {
        let server = try TestServer(mode)
        let client = try server.client()
        #expect(client.ask(get("/a%2Fb?c=%41+d&&e?f")).body == "/a%2Fb c=%41+d&&e?f")
        client.close()
        try await server.stop()
    }

    @Test(arguments: Mode.allCases)
    func `fields of one name are joined and counted`(mode: Mode) async throws {
        let server = try TestServer(mode)
        let client = try server.client()
        let fields = "If-None-Match: \"1\"\r\nOther: x\r\nIF-NONE-MATCH:  \"2\", W/\"3\" \r\n"
        #expect(client.ask(get("/etags", fields)).body == #"2 "1", "2", W/"3""#)
        #expect(client.ask(get("/etags")).body == "0 ")
        client.close()
        try await server.stop()
    }

    @Test(arguments: Mode.allCases)
    func `the owner of a body lives until the answer is out`(mode: Mode) async throws {
        let server = try TestServer(mode)
        let client = try server.client()
        for _ in 0..<2 {
            #expect(client.ask(get("/owned?bytes")).body == "bytes")
            #expect(server.held.released.isSignalled())
            // More than the socket takes at once, so that the answer outlives the handler.
            let long = client.ask(get("/owned-long"))
            #expect(long.body.utf8.count == TestServer.longBytes)
            #expect(long.body.utf8.allSatisfy { $0 == 0x78 })
            #expect(server.held.released.isSignalled())
        }
        client.close()
        try await server.stop()
    }

    @Test(arguments: Mode.allCases)
    func `a body arrives with a length or in chunks`(mode: Mode) async throws {
        let server = try TestServer(mode)
        let client = try server.client()
        #expect(client.ask(put("/echo", "hello")).body == "hello")
        #expect(client.ask(putChunked("/echo", "hello again")).body == "hello again")
        #expect(client.ask(put("/echo", "")).body == "")
        client.close()
        try await server.stop()
    }

    @Test(arguments: Mode.allCases)
    func `a client that has closed its half gets its answer`(mode: Mode) async throws {
        let server = try TestServer(mode)
        let client = try server.client()
        client.send(put("/hold", "held"))
        try await server.await("a suspended request") { $0.suspended == 1 }
        client.end()
        server.letGo(1)
        #expect(client.read().body == "held")
        #expect(client.seesEnd())
        try await server.stop()
    }

    @Test(arguments: Mode.allCases)
    func `a client may vanish while its request is handled`(mode: Mode) async throws {
        let server = try TestServer(mode)
        for index in 0..<6 {
            let client = try server.client()
            client.send(index % 2 == 0 ? get("/hold") : put("/hold", "held"))
            try await server.await("a suspended request") { $0.suspended == index + 1 }
            client.reset()
        }
        server.letGo(6)
        try await server.stop()
    }

    @Test func `answering twice stops the process`() async {
        await #expect(processExitsWith: .failure) {
            var configuration = HTTPServerConfiguration()
            configuration.port = 0
            let server = try HTTPServer(configuration) { exchange in
                exchange.respond(.ok)
                exchange.respond(.ok)
            }
            _ = try RawClient(port: server.port).ask(get("/"))
        }
    }
}
