import Foundation
import LatchkeyHTTP
import LatchkeyTestSupport
import Testing

/// Certificates, handshakes, and what clients that know no TLS get.
struct TLSTests {
    private static func identity(
        _ certificate: TestCertificate,
        _ authorities: TestCertificate? = nil
    ) -> TLSIdentity {
        TLSIdentity(
            certificates: certificate.certificate,
            key: certificate.key,
            authorities: authorities?.certificate
        )
    }

    private static func plain(_ server: TestServer) throws -> LoopbackConnection {
        try LoopbackConnection(port: server.port, isEncrypted: false)
    }

    /// The session of a new connection, the answer to a request, if there is one, and the ticket
    /// that has come with it.
    private static func session(
        _ server: TestServer,
        _ offer: TLSOffer = TLSOffer(),
        asking target: String? = nil
    ) throws -> (session: TLSSession, text: String, ticket: [UInt8]) {
        let client = try HTTPClient(port: server.port, offer: offer)
        defer { client.close() }
        let session = try #require(client.session)
        guard let target else { return (session, "", []) }
        return (session, try client.request("GET", target).text, session.ticket)
    }

    @Test func `an identity whose parts are not right is refused with the reason`() throws {
        let one = TestCertificate()
        let other = TestCertificate()
        let bad = [
            TLSIdentity(certificates: "", key: one.key),
            TLSIdentity(certificates: one.certificate, key: ""),
            TLSIdentity(certificates: one.key, key: one.certificate),
            TLSIdentity(certificates: one.certificate, key: other.key),
            TLSIdentity(certificates: String(one.certificate.dropLast(200)), key: one.key),
            TLSIdentity(certificates: one.certificate, key: one.key, authorities: ""),
            TLSIdentity(certificates: one.certificate, key: one.key, authorities: one.key),
        ]
        for identity in bad {
            let error = #expect(throws: TLSIdentityError.self) { try identity.expiry() }
            #expect(error?.message.isEmpty == false)
            var configuration = HTTPServerConfiguration()
            configuration.port = 0
            configuration.identity = identity
            #expect(throws: HTTPServerError.self) {
                try HTTPServer(configuration) { $0.respond(.ok) }
            }
        }
        let soon = try Self.identity(TestCertificate(endsIn: 100)).expiry()
        #expect(abs(soon - Int64(time(nil)) - 100) < 10)
    }

    @Test func `another certificate is shown without an effect on connections`() async throws {
        let server = try TestServer(.encrypted)
        let before = try Self.session(server).session.certificate
        let kept = try server.client()
        #expect(kept.ask(get("/now")).text == "now")
        let next = TestCertificate("next")
        try server.server.identify(Self.identity(next))
        #expect(kept.ask(get("/now")).text == "now")
        #expect(before != next.der)
        #expect(try Self.session(server).session.certificate == next.der)
        // A wrong identity changes nothing.
        #expect(throws: TLSIdentityError.self) {
            try server.server.identify(TLSIdentity(certificates: next.certificate, key: ""))
        }
        #expect(try Self.session(server).session.certificate == next.der)
        kept.close()
        try await server.stop()
    }

    @Test(arguments: ["1.2", "1.3"])
    func `a session is resumed with its ticket, until the identity changes`(
        version: String
    ) async throws {
        let server = try TestServer(.encrypted)
        let first = try Self.session(server, TLSOffer(version: version), asking: "/now")
        #expect(first.text == "now" && !first.session.isResumed)
        #expect(first.session.version == version)
        let offer = TLSOffer(version: version, ticket: first.ticket)
        #expect(try Self.session(server, offer).session.isResumed)
        try await server.await("a resumed handshake") { $0.resumedTotal == 1 }
        try server.server.identify(Self.identity(TestCertificate()))
        #expect(try !Self.session(server, offer).session.isResumed)
        try await server.stop()
    }

    @Test(arguments: ["1.0", "1.1"])
    func `old versions are refused`(version: String) async throws {
        let server = try TestServer(.encrypted)
        #expect(throws: (any Error).self) {
            try Self.session(server, TLSOffer(version: version))
        }
        try await server.await("a failed handshake") { $0.handshakeFailedTotal == 1 }
        try await server.stop()
    }

    @Test func `bytes that are no handshake end the connection, and others go on`() async throws {
        let server = try TestServer(.encrypted)
        let kept = try server.client()
        var random = SeededGenerator(21)
        let garbage = (0..<50).map { _ in
            (0..<Int.random(in: 6..<500, using: &random)).map { _ in
                UInt8.random(in: .min ... .max, using: &random)
            }
        }
        // A record that says that it is long, plain HTTP, and a part of a hello.
        let starts = [Array(get("/now").utf8), [0x16, 3, 1, 0xFF, 0xFF] + [0x61]] + garbage
        for start in starts {
            let client = try Self.plain(server)
            _ = client.send(start)
            client.endSending()
            var last = client.receive()
            while let bytes = last, !bytes.isEmpty { last = client.receive() }
        }
        #expect(kept.ask(get("/now")).text == "now")
        kept.close()
        try await server.await("failed handshakes") {
            $0.handshakeFailedTotal == UInt64(starts.count) && $0.handshaking == 0
        }
        try await server.stop()
    }

    @Test func `a handshake that does not end is ended, and delays no other`() async throws {
        let server = try TestServer(.encrypted) {
            $0.requestTimeout = .seconds(2)
            $0.hasStandingClock = true
        }
        let half = try (0..<20).map { _ in try Self.plain(server) }
        // The begin of a record, without the rest.
        for client in half.dropLast() { _ = client.send([0x16, 3, 1, 2, 0, 1]) }
        try await server.await("half handshakes") { $0.acceptedTotal == UInt64(half.count) }
        let client = try server.client()
        #expect(client.ask(get("/now")).text == "now")
        server.server.pass(.seconds(2))
        try await server.await("ended handshakes") {
            $0.handshakeFailedTotal == UInt64(half.count) && $0.timedOutTotal == UInt64(half.count)
        }
        for client in half { #expect(client.receive()?.isEmpty != false) }
        #expect(client.ask(get("/now")).text == "now")
        client.close()
        try await server.stop()
    }

    @Test func `half handshakes give their places to others`() async throws {
        let server = try TestServer(.encrypted) {
            $0.connectionsMax = 4
            $0.hasStandingClock = true
        }
        let half = try (0..<4).map { _ in try Self.plain(server) }
        try await server.await("half handshakes") { $0.handshaking == half.count }
        // An honest client may need some time: it keeps its place.
        let early = try server.client()
        #expect(early.ask(get("/now")).status == 503)
        early.close()
        server.server.pass(Self.placeTime)
        try await server.await("no early client") { $0.connections <= half.count }
        let clients = try (0..<4).map { _ in try server.client() }
        for client in clients { #expect(client.ask(get("/now")).text == "now") }
        let late = try server.client()
        #expect(late.ask(get("/now")).status == 503)
        for client in clients { #expect(client.ask(get("/now")).text == "now") }
        for client in half { #expect(client.receive()?.isEmpty != false) }
        for client in clients + [late] { client.close() }
        try await server.stop()
    }

    @Test func `a half handshake that was refused has no place to give`() async throws {
        let server = try TestServer(.encrypted) {
            $0.connectionsMax = 4
            $0.hasStandingClock = true
        }
        // The last three are over the limit, and are refused from the start.
        let half = try (0..<7).map { _ in try Self.plain(server) }
        try await server.await("half handshakes") {
            $0.handshaking + Int($0.handshakeFailedTotal) == half.count
        }
        server.server.pass(Self.placeTime)
        let clients = try (0..<4).map { _ in try server.client() }
        for client in clients { #expect(client.ask(get("/now")).text == "now") }
        for _ in 0..<3 {
            let late = try server.client()
            #expect(late.ask(get("/now")).status == 503)
            late.close()
        }
        for client in half { client.close() }
        for client in clients { client.close() }
        try await server.pass(until: "no connections") { $0.connections == 0 }
        // All handshakes are counted, and all places are there again.
        try await server.await("counts") {
            $0.handshakeTotal == 7 && $0.handshakeFailedTotal == UInt64(half.count)
        }
        let again = try (0..<4).map { _ in try server.client() }
        for client in again { #expect(client.ask(get("/now")).text == "now") }
        for client in again { client.close() }
        try await server.stop()
    }

    /// For how long a half handshake keeps its place: LATCHKEY_HTTP_HANDSHAKE_PLACE_MILLISECONDS.
    private static let placeTime = Duration.seconds(1)

    /// Only some connections in a second get a handshake, which then fails; the others have none.
    @Test func `connections over a client's share fail no handshakes`() async throws {
        let server = try TestServer(.encrypted) {
            $0.connectionsPerAddressMax = 1
            $0.hasStandingClock = true
        }
        let kept = try server.client()
        #expect(kept.ask(get("/now")).text == "now")
        let refused = try (0..<500).map { _ in try Self.plain(server) }
        try await server.await("refused") { $0.refusedShareTotal == UInt64(refused.count) }
        for client in refused { client.close() }
        try await server.await("one connection") { $0.connections == 1 }
        // LATCHKEY_HTTP_REFUSED_HANDSHAKES_MAX.
        try await server.await("few failed handshakes") { $0.handshakeFailedTotal <= 32 }
        kept.close()
        try await server.stop()
    }

    @Test func `nothing is written past the library`() async throws {
        let server = try TestServer(.encrypted) {
            $0.requestTimeout = .seconds(2)
            $0.hasStandingClock = true
        }
        func head(_ length: String) -> String {
            "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: \(length)\r\n\r\n"
        }
        // Heads and bodies that do not come, of the first request and of a later one.
        let late = try ["GET /now HT", head("5") + "hel"].map { text in
            let client = try server.client()
            client.send(text)
            return client
        }
        let used = try server.client()
        #expect(used.ask(get("/now")).status == 200)
        used.send(head("5") + "hel")
        try await server.pass(until: "late requests") { $0.timedOutTotal == 3 }
        for client in late + [used] { #expect(client.seesEnd()) }
        // A body without an end.
        let endless = try server.client()
        endless.send("PUT /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        endless.send("400000\r\n" + String(repeating: "b", count: 4_000_000))
        #expect(endless.seesEnd())
        endless.close()
        // A request that breaks a rule is answered through the library.
        for (length, status) in [("+5", 400), ("18446744073709551616", 413)] {
            let client = try server.client()
            let reply = client.ask(head(length))
            #expect(reply.status == status && reply.closes && client.seesEnd())
            client.close()
        }
        // A length that is far too large is answered through the library, as is one that is not.
        for length in [9_999_999, TestServer.bodyBytesMax + 1] {
            let client = try server.client()
            let body = length < 9_999_999 ? String(repeating: "b", count: length) : ""
            let reply = client.ask(head("\(length)") + body)
            #expect(reply.status == 413 && reply.closes && client.seesEnd())
            client.close()
        }
        // A client that has closed its half together with its last bytes is noticed.
        let client = try server.client()
        client.send(get("/now"))
        client.end()
        #expect(client.read().text == "now")
        #expect(client.seesEnd())
        client.close()
        try await server.stop()
    }

    @Test func `a client cannot renegotiate`() async throws {
        let server = try TestServer(.encrypted)
        let client = try HTTPClient(port: server.port, offer: TLSOffer(version: "1.2"))
        #expect(client.session?.renegotiates() == false)
        client.close()
        #expect(try server.client().ask(get("/now")).text == "now")
        try await server.stop()
    }

    @Test func `the name of a client is that of its certificate, if that is right`() async throws {
        let authority = TestCertificate("authority", isAuthority: true)
        let other = TestCertificate("authority", isAuthority: true)
        let own = TestCertificate()
        let server = try TestServer(.encrypted) { $0.identity = Self.identity(own, authority) }
        func shown(
            _ certificate: TestCertificate?,
            ticket: [UInt8] = []
        ) throws -> (session: TLSSession, text: String, ticket: [UInt8]) {
            let offer = TLSOffer(certificate: certificate, ticket: ticket)
            return try Self.session(server, offer, asking: "/certificate")
        }
        let ann = TestCertificate("ann", isForClients: true, signedBy: authority)
        let answer = try shown(ann)
        #expect(answer.text == "ann")
        #expect(try shown(ann, ticket: answer.ticket).text == "ann")
        #expect(try shown(nil).text == "none")
        let refused = [
            TestCertificate("ann", isForClients: true, signedBy: other),
            TestCertificate("ann", isForClients: true),
            TestCertificate("ann", isForClients: false, signedBy: authority),
            TestCertificate("ann", isForClients: true, signedBy: authority, endsIn: -60),
            TestCertificate("", isForClients: true, signedBy: authority),
            TestCertificate("a\0nn", isForClients: true, signedBy: authority),
            TestCertificate(
                String(repeating: "a", count: 65),
                isForClients: true,
                signedBy: authority
            ),
            // A certificate that a client has signed is not one of the authority.
            TestCertificate("ann", isForClients: true, signedBy: ann),
        ]
        for (index, certificate) in refused.enumerated() {
            #expect(try shown(certificate).text == "refused", "\(index)")
        }
        try await server.stop()
    }
}
