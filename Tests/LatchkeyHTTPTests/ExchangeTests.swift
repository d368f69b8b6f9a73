import Dispatch
import LatchkeyHTTP
import LatchkeyTestSupport
import Testing

@Suite(.timeLimit(.minutes(15)), .offPool)
struct ExchangeTests {
    typealias Mode = TestServer.Mode

    /// Requests, and the bodies of their answers.
    private static let echoes = [
        (get("/now"), "now"), (get("/later"), "later"), (get("/a"), "/a "),
        // Path and query are handed over as they were sent.
        (get("/a%2Fb?c=%41+d&&e?f"), "/a%2Fb c=%41+d&&e?f"),
        // Fields of one name are joined and counted.
        (
            get(
                "/etags",
                "If-None-Match: \"1\"\r\nOther: x\r\nIF-NONE-MATCH:  \"2\", W/\"3\" \r\n"
            ),
            #"2 "1", "2", W/"3""#
        ),
        (get("/etags"), "0 "),
        // A body arrives with a length or in chunks.
        (put("/echo", "hello"), "hello"), (putChunked("/echo", "hello again"), "hello again"),
        (put("/echo", ""), ""),
    ]

    @Test(arguments: Mode.allCases)
    func `requests are answered now or later, one by one or pipelined`(mode: Mode) async throws {
        try await serving(mode) { server, client in
            for (request, body) in Self.echoes + Self.echoes {
                #expect(client.ask(request).text == body)
            }
            client.send(Self.echoes.map(\.0).joined())
            for (_, body) in Self.echoes { #expect(client.read().text == body) }
            #expect(server.server.statistics.acceptedTotal == 1)
        }
    }

    @Test(arguments: Mode.allCases)
    func `an answer has its fields, a date and a length`(mode: Mode) async throws {
        try await serving(mode) { _, client in
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
        }
    }

    @Test(arguments: Mode.allCases)
    func `the answer to HEAD has the length and no body`(mode: Mode) async throws {
        try await serving(mode) { _, client in
            client.send("HEAD /now HTTP/1.1\r\nHost: x\r\n\r\n" + get("/later"))
            #expect(client.read(headOnly: true).field("Content-Length") == "3")
            #expect(client.read().text == "later")
        }
    }

    @Test(arguments: Mode.allCases)
    func `the owner of a body lives until the answer is out`(mode: Mode) async throws {
        try await serving(mode) { server, client in
            for _ in 0..<2 {
                #expect(client.ask(get("/owned?bytes")).text == "bytes")
                #expect(server.held.released.isSignalled())
                // More than the socket takes at once, so that the answer outlives the handler.
                let long = client.ask(get("/owned-long"))
                #expect(long.text.utf8.count == TestServer.longBytes)
                #expect(long.text.utf8.allSatisfy { $0 == 0x78 })
                #expect(server.held.released.isSignalled())
            }
        }
    }

    @Test(arguments: Mode.allCases)
    func `a client that has closed its half gets its answer`(mode: Mode) async throws {
        let server = try TestServer(mode)
        let client = try server.client()
        client.send(put("/hold", "held"))
        try await server.await("a suspended request") { $0.suspended == 1 }
        client.end()
        server.letGo(1)
        #expect(client.read().text == "held")
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
