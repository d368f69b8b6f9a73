import LatchkeyHTTP
import LatchkeyTestSupport
import Testing

/// Requests that a router decides at their head.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct HeadTests {
    typealias Mode = TestServer.Mode

    private static let expects = "Expect: 100-continue\r\n"

    /// A server with a route that refuses at the head, and one that answers with its capture and
    /// its body.
    private static func server(_ mode: Mode) throws -> TestServer {
        let answer: Route.Handler = { exchange, match in
            exchange.respond(.ok, body: .bytes(Array(match.capture) + [0x20] + exchange.body))
        }
        let router = try Router(
            [
                Route(
                    .put,
                    "/refused/{name}",
                    checkHead: { exchange, match in
                        exchange.respond(.forbidden, body: .bytes(Array(match.capture)))
                    },
                    handle: answer
                ),
                Route(.put, "/things/{name}/part", handle: answer),
                Route(.get, "/things", handle: answer),
            ],
            hosts: AllowedHosts(["x"])
        ) { exchange, unmatched in
            switch unmatched {
            case .rejected(let rejection): exchange.respond(rejection.status)
            case .misdirected: exchange.respond(HTTPStatus(rawValue: 421))
            case .crossSite: exchange.respond(.forbidden)
            case .notFound: exchange.respond(.notFound)
            case .methodNotAllowed(let allow):
                exchange.respond(.methodNotAllowed) { $0.add("Allow", text: allow) }
            case .options: exchange.respond(.noContent)
            }
        }
        return try TestServer(mode, router)
    }

    @Test(arguments: Mode.allCases)
    func `a request without a route is answered before its body`(mode: Mode) async throws {
        let server = try Self.server(mode)
        for (target, status) in [
            ("/nowhere", 404), ("/things", 405), ("http://other/things", 421), ("/refused/it", 403),
        ] {
            // The body is not asked for, so it never comes.
            let patient = try server.client()
            let head = "PUT \(target) HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
            let reply = patient.ask(head + Self.expects + "\r\n")
            #expect(reply.status == status && reply.closes && patient.seesEnd())
            // Without asking, the body is read, and the connection goes on.
            for request in [put(target, "hello"), putChunked(target, "hello")] {
                let client = try server.client()
                #expect(client.ask(request).status == status)
                let next = client.ask(put("/things/a%20b/part", "hello"))
                #expect(next.status == 200 && next.text == "a%20b hello")
            }
        }
        try await server.stop()
    }

    @Test(arguments: Mode.allCases)
    func `the host of every request of a connection is looked at`(mode: Mode) async throws {
        let server = try Self.server(mode)
        let client = try server.client()
        func status(_ target: String, _ host: String) -> Int {
            client.ask("GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n").status
        }
        #expect(status("/things", "y") == 421)
        for _ in 0..<2 {
            #expect(status("/things", "x") == 200)
            #expect(status("/things", "x") == 200)
            for other in ["y", "xx", "", "x.y"] {
                #expect(status("/things", other) == 421, "\(other)")
            }
            #expect(status("http://y/things", "x") == 421)
            #expect(status("http://x/things", "y") == 200)
            #expect(status("/things", "y") == 421)
            #expect(status("/things", "X:80") == 200)
        }
        #expect(client.ask("GET /things HTTP/1.1\r\nHost: x y\r\n\r\n").status == 400)
        client.close()
        try await server.stop()
    }

    @Test(arguments: Mode.allCases)
    func `a body that is wanted is asked for`(mode: Mode) async throws {
        let server = try Self.server(mode)
        let client = try server.client()
        let head = "PUT /things/a/part HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
        client.send(head + Self.expects + "\r\n")
        #expect(client.read(headOnly: true).status == 100)
        #expect(client.ask("hello").text == "a hello")
        client.close()
        try await server.stop()
    }
}
