import LatchkeyHTTP
import LatchkeyTestSupport
import Testing

@Suite(.timeLimit(.minutes(15)), .offPool)
struct HostileInputTests {
    typealias Mode = TestServer.Mode

    private static let malformed = [
        "GET /a\0b HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /a?b\0c HTTP/1.1\r\nHost: x\r\n\r\n",
        "GE\0T /a HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /a HTTP/1.1\r\nHost: x\r\nIf-Match: \"1\"\0x\r\n\r\n",
        "GET /a HTTP/1.1\r\nHost: x\r\nA\0: b\r\n\r\n",
        "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET  /a HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /a\u{1} HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /a#b HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /a HTTP/1.1\r\nHost: x\r\nA: b\u{7}\r\n\r\n",
        "GET /a HTTP/1.1\r\nHost: x\r\nA: b\r\n folded\r\n\r\n",
        "GET /a HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n",
        "GET /a HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n",
        "GET /a HTTP/1.1\r\n\r\n",
        "GET /a HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n",
        "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n"
            + "\r\n0\r\n\r\n",
        "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
        "PUT /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "\u{16}\u{3}\u{1} tls?\r\n\r\n",
        "hello\r\n\r\n",
    ]

    @Test(arguments: Mode.allCases)
    func `a request that is not proper HTTP gets 400 or the end`(mode: Mode) async throws {
        let server = try TestServer(mode)
        for text in HostileInputTests.malformed {
            let client = try server.client()
            client.send(text)
            client.end()
            let status = client.read().status
            #expect(status == 400 || status == 0, "\(text.debugDescription)")
            // libmicrohttpd 0.9.75 sends its head twice if Content-Length is not a number.
            #expect(client.seesEndAtLast())
        }
        #expect(try server.client().ask(get("/now")).status == 200)
        try await server.stop()
    }

    /// As RFC 9110, section 5.6.2, has it.
    ///
    /// Over 0x7f a character is two bytes, neither of which is allowed.
    @Test
    func `the name of a field is a token`() async throws {
        let server = try TestServer(.eventLoops)
        let others = Set("!#$%&'*+-.^_`|~".unicodeScalars)
        // These end a name, or are refused by libmicrohttpd before us.
        let ends = Set("\t\n\r :".unicodeScalars)
        for scalar in (1...0x100).compactMap(UnicodeScalar.init) where !ends.contains(scalar) {
            let client = try server.client()
            let reply = client.ask("GET /now HTTP/1.1\r\nHost: x\r\na\(scalar)b: c\r\n\r\n")
            let isAllowed =
                scalar.isASCII && scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
                || others.contains(scalar)
            #expect(reply.status == (isAllowed ? 200 : 400), "\(scalar.debugDescription)")
            client.close()
        }
        try await server.stop()
    }

    @Test(arguments: Mode.allCases)
    func `a coding that is not known is 501`(mode: Mode) async throws {
        try await serving(mode) { _, client in
            let reply = client.ask(
                "PUT /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\na"
            )
            #expect(reply.status == 501 && reply.closes)
        }
    }

    @Test(arguments: Mode.allCases)
    func `random bytes do no harm`(mode: Mode) async throws {
        let server = try TestServer(mode)
        var random = SeededGenerator(42)
        for _ in 0..<40 {
            let client = try server.client()
            let bytes = (0..<200).map { _ in UInt8.random(in: 0...127, using: &random) }
            client.send(String(decoding: bytes, as: UTF8.self) + "\r\n\r\n")
            client.end()
            while client.read().status != 0 {}
        }
        #expect(try server.client().ask(get("/now")).status == 200)
        try await server.stop()
    }
}
