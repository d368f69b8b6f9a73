import Foundation
import LatchkeyHTTP
import LatchkeyTestSupport
import Testing

/// How many handshakes are under way, what clients call the server, and why handshakes fail.
struct HandshakeTests {
    /// LATCHKEY_HTTP_HANDSHAKES_MAX, and for how long one of them counts.
    private static let countMax = 128
    private static let turnTime = Duration.seconds(1)

    private static func plain(_ server: TestServer) throws -> LoopbackConnection {
        try LoopbackConnection(port: server.port, isEncrypted: false)
    }

    /// The first message of a client of TLS 1.2 (RFC 5246, section 7.4.1.2).
    private static func hello(version: UInt8 = 3) -> [UInt8] {
        let extensions: [UInt8] =
            [0x00, 0x0A, 0, 4, 0, 2, 0, 0x17]  // secp256r1
            + [0x00, 0x0D, 0, 4, 0, 2, 4, 3]  // ECDSA with SHA-256
            + [0xFF, 0x01, 0, 1, 0]  // what old servers want to see for renegotiation
        let body =
            [3, version] + [UInt8](repeating: 7, count: 32) + [0]
            // ECDHE-ECDSA-AES128-GCM-SHA256, without compression.
            + [0, 2, 0xC0, 0x2B, 1, 0, 0, UInt8(extensions.count)] + extensions
        let message = [1, 0, 0, UInt8(body.count)] + body
        return [0x16, 3, 1, 0, UInt8(message.count)] + message
    }

    /// Each with a hello that was answered, and no more.
    private static func stalled(_ server: TestServer, _ count: Int) throws -> [LoopbackConnection] {
        let all = try (0..<count).map { _ in try plain(server) }
        for client in all {
            _ = client.send(hello())
            #expect(client.receive()?.first == 0x16)
        }
        return all
    }

    @Test func `a hello waits while so many handshakes are under way`() async throws {
        let server = try TestServer(.encrypted) {
            $0.connectionsPerAddressMax = 0
            $0.hasStandingClock = true
        }
        let kept = try server.client()
        #expect(kept.ask(get("/now")).text == "now")
        let stalled = try Self.stalled(server, Self.countMax)
        let waiting = try (0..<3).map { _ in
            let client = try Self.plain(server)
            _ = client.send(Self.hello())
            return client
        }
        try await server.await("all") { $0.handshaking == Self.countMax + waiting.count }
        for _ in 0..<100 { #expect(kept.ask(get("/now")).text == "now") }
        #expect(waiting.allSatisfy { !$0.hasReceived })
        // A client that goes gives its turn to one of them.
        stalled[5].close()
        try eventually("a turn") { waiting.contains { $0.hasReceived } }
        try await server.await("the end of one") { $0.handshakeFailedTotal == 1 }
        let others = waiting.filter { !$0.hasReceived }
        #expect(others.count == waiting.count - 1)
        // A client that has gone takes no turn.
        others[0].close()
        try await server.await("the end of two") { $0.handshakeFailedTotal == 2 }
        #expect(!others[1].hasReceived)
        // Clients whose time is over do not count.
        server.server.pass(Self.turnTime)
        #expect(others[1].receive()?.first == 0x16)
        let late = try server.client()
        #expect(late.ask(get("/now")).text == "now")
        for client in stalled + waiting { client.close() }
        kept.close()
        late.close()
        try await server.stop()
    }

    @Test(arguments: ["1.2", "1.3"], ["lock_service", "_", "a b*c:8080", "localhost"])
    func `the name of the server can have any bytes`(
        version: String,
        name: String
    ) async throws {
        let server = try TestServer(.encrypted)
        var offer = TLSOffer(version: version, serverName: name)
        for isResumed in [false, true] {
            let client = try HTTPClient(port: server.port, offer: offer)
            let session = try #require(client.session)
            #expect(session.isResumed == isResumed)
            #expect(try client.request("GET", "/now").text == "now")
            offer = TLSOffer(version: version, serverName: name, ticket: session.ticket)
            client.close()
        }
        try await server.stop()
    }

    @Test func `the log says why a handshake has failed, with nothing of the client's`() throws {
        let lines = SharedLines()
        var configuration = TestServer.configuration(.encrypted)
        configuration.hasStandingClock = true
        let server = try HTTPServer(
            configuration,
            log: { lines.add($0) },
            handle: { $0.respond(.ok) }
        )
        func send(
            _ bytes: [UInt8],
            then more: [UInt8] = [],
            _ reason: String,
            ends: Bool = true
        ) throws {
            let client = try LoopbackConnection(port: server.port, isEncrypted: false)
            _ = client.send(bytes)
            if !more.isEmpty {
                #expect(client.receive()?.first == 0x16)
                _ = client.send(more)
            }
            if ends { client.endSending() }
            while let found = client.receive(), !found.isEmpty {}
            client.close()
            let line = "a TLS handshake has failed: \(reason)"
            try eventually(line) { lines.take() == [line] }
        }
        try send(Array("GET /secret HTTP/1.1\r\n\r\n".utf8), "what the client sends is no TLS")
        try send(
            Self.hello(version: 2),
            "the client's hello has no version or cipher in common, or is wrong",
            ends: false
        )
        // An alert that says that it does not know the authority.
        try send(
            Self.hello(),
            then: [0x15, 3, 3, 0, 2, 2, 48],
            "the client says: CA is unknown",
            ends: false
        )
        try send(
            Array(Self.hello().prefix(20)),
            "the client has closed the connection"
        )
        // A client that only checks the port makes no line.
        try LoopbackConnection(port: server.port, isEncrypted: false).close()
        try eventually("its end") { server.statistics.handshakeFailedTotal == 5 }
        #expect(lines.take().isEmpty)
        server.stop(within: .zero)
    }
}

/// Lines of a log, which threads of the server add.
///
/// SAFETY: `@unchecked Sendable` because the lock guards the lines.
private final class SharedLines: @unchecked Sendable {
    private let lock = NSLock()
    private var lines: [String] = []

    func add(_ line: String) { lock.withLock { lines.append(line) } }

    /// Those since the last call that had some.
    func take() -> [String] {
        lock.withLock {
            defer { lines = [] }
            return lines
        }
    }
}
