import LatchkeyTestSupport
import Testing

@testable import LatchkeyHTTP

/// The identity of a client, and proxies that speak for others.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct ClientTests {
    private func key(_ text: String) throws -> ClientKey {
        ClientKey(try #require(NetworkAddress(text), "\(text)"))
    }

    @Test func `IPv4 counts in full, and IPv6 by its first 64 bits`() throws {
        #expect(try key("10.0.0.1") == key("::ffff:10.0.0.1"))
        #expect(try key("10.0.0.1") != key("10.0.0.2"))
        #expect(try key("2001:db8:1:2::1") == key("2001:db8:1:2:ffff:ffff:ffff:ffff"))
        #expect(try key("2001:db8:1:2::1") != key("2001:db8:1:3::1"))
        #expect(try key("::1") != key("127.0.0.1"))
        for text in ["", "10.0.0", "10.0.0.1.1", "10.0.0.256", "x", "[::1]", "::1%lo", "1.2.3.4:5"]
        {
            #expect(NetworkAddress(text) == nil, "\(text)")
        }
    }

    @Test func `a network is an address, or one with the number of its bits`() {
        for text in ["10.0.0.1", "10.0.0.0/8", "0.0.0.0/0", "10.0.0.1/32", "::/0", "::1/128"] {
            #expect(Network(text) != nil, "\(text)")
        }
        for text in ["", "/8", "10.0.0.1/", "10.0.0.1/33", "::1/129", "10.0.0.1/+8", "a/8", "1/8"] {
            #expect(Network(text) == nil, "\(text)")
        }
    }

    /// All clients of this test come from 127.0.0.1.
    @Test func `only what a trusted proxy has added is believed`() async throws {
        // The proxies, the field, and the client.
        let cases: [([String], String, String)] = [
            ([], "X-Forwarded-For: 10.0.0.1\r\n", "127.0.0.1"),
            (["127.0.0.2"], "X-Forwarded-For: 10.0.0.1\r\n", "127.0.0.1"),
            (["127.0.0.1"], "", "127.0.0.1"),
            (["127.0.0.1"], "X-Forwarded-For: 10.0.0.1\r\n", "10.0.0.1"),
            (["127.0.0.0/8"], "X-Forwarded-For: 10.0.0.1\r\n", "10.0.0.1"),
            (["127.0.0.0/31"], "X-Forwarded-For: 10.0.0.1\r\n", "10.0.0.1"),
            (["127.0.0.2/31"], "X-Forwarded-For: 10.0.0.1\r\n", "127.0.0.1"),
            (["::ffff:127.0.0.1"], "X-Forwarded-For: 2001:db8::1\r\n", "2001:db8::1"),
            (["127.0.0.1"], "X-Forwarded-For: 9.9.9.9, 10.0.0.1\r\n", "10.0.0.1"),
            (
                ["127.0.0.1"], "X-Forwarded-For: 9.9.9.9\r\nX-Forwarded-For: 10.0.0.1\r\n",
                "10.0.0.1"
            ),
            (["127.0.0.1"], "X-Forwarded-For: 10.0.0.1:4711\r\n", "10.0.0.1"),
            (["127.0.0.1"], "X-Forwarded-For: [2001:db8::1]:4711\r\n", "2001:db8::1"),
            (["127.0.0.1"], "X-Forwarded-For: 10.0.0.1, unknown\r\n", "127.0.0.1"),
            (
                ["127.0.0.1", "10.0.0.0/8"],
                "X-Forwarded-For: 9.9.9.9, 8.8.8.8, 10.0.0.1\r\n", "8.8.8.8"
            ),
            (["127.0.0.1", "10.0.0.0/8"], "X-Forwarded-For: , 10.0.0.1\r\n", "10.0.0.1"),
            (["127.0.0.1"], "Forwarded: for=10.0.0.1\r\n", "127.0.0.1"),
        ]
        for (proxies, fields, client) in cases {
            let expected = try key(client)
            var configuration = HTTPServerConfiguration()
            configuration.port = 0
            configuration.trustedProxies = proxies
            let server = try HTTPServer(configuration) { exchange in
                exchange.respond(exchange.client == expected ? .ok : .notFound)
            }
            let connection = try RawClient(port: server.port)
            #expect(connection.ask(get("/", fields)).status == 200, "\(proxies) \(fields)")
            connection.close()
            server.stop(within: Patience.duration)
        }
    }
}
