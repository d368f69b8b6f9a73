import Dispatch
import LatchkeyHTTP
import LatchkeyTestSupport
import Testing

/// Bodies that are read piece by piece.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct BodyReaderTests {
    typealias Mode = TestServer.Mode

    /// A server whose routes count the bytes of the body.
    ///
    /// `/count/more` takes all pieces at once, `/count/wait` lets the client wait after each one
    /// for another thread, `/count/hold` for the test, and `/count/bad` answers 400 from another
    /// thread.
    private static func server(_ mode: Mode, _ seen: Seen) throws -> TestServer {
        let router = try Router(
            [
                Route(
                    .put,
                    "/count/{way}",
                    checkHead: { exchange, match in
                        let way = String(decoding: match.capture, as: UTF8.self)
                        exchange.readBody(with: Counter(way, seen))
                    },
                    handle: { exchange, _ in
                        let text = (exchange.bodyReader as? Counter)?.text ?? "no body"
                        exchange.respond(.ok, body: .bytes(Array(text.utf8)))
                    }
                )
            ]
        ) { exchange, _ in exchange.respond(.notFound) }
        return try TestServer(mode, router)
    }

    @Test(arguments: Mode.allCases)
    func `a body is read in pieces, however long it is`(mode: Mode) async throws {
        let seen = Seen()
        let server = try Self.server(mode, seen)
        let client = try server.client()
        let text = String(repeating: "a", count: 300_000)
        for way in ["more", "wait"] {
            #expect(client.ask(put("/count/\(way)", text)).text == "300000 bytes")
            #expect(client.ask(putChunked("/count/\(way)", text + "b")).text == "300001 bytes")
        }
        #expect(client.ask(put("/count/more", "")).text == "no body")
        client.close()
        try await server.stop()
        #expect(seen.losses.isEmpty && seen.pieceBytesMax < 64 * 1024 && seen.releasedCount == 4)
    }

    @Test(arguments: Mode.allCases)
    func `a reader answers in the middle of a body`(mode: Mode) async throws {
        let seen = Seen()
        let server = try Self.server(mode, seen)
        let client = try server.client()
        let text = String(repeating: "a", count: 300_000)
        let reply = client.ask(put("/count/bad", text))
        #expect(reply.status == 400 && reply.text == "bad" && !reply.closes)
        #expect(client.ask(put("/count/more", "a")).text == "1 bytes")
        client.close()
        try await server.stop()
        #expect(seen.losses.isEmpty && seen.releasedCount == 2)
    }

    @Test(arguments: Mode.allCases)
    func `a reader is told when its client goes`(mode: Mode) async throws {
        let seen = Seen()
        let server = try Self.server(mode, seen)
        let client = try server.client()
        client.send("PUT /count/hold HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhello")
        let held = try seen.nextHeld()
        client.close()
        #expect(seen.losses.isEmpty)
        held.readOn()
        try await server.await("the end") { $0.connections == 0 }
        #expect(seen.losses == [.client] && seen.releasedCount == 1)
        try await server.stop()
    }

    @Test(arguments: Mode.allCases)
    func `a stop cuts a body that is not complete, and counts it`(mode: Mode) throws {
        let seen = Seen()
        let server = try Self.server(mode, seen)
        let client = try server.client()
        client.send("PUT /count/hold HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhello")
        let held = try seen.nextHeld()
        #expect(server.server.stop(within: .milliseconds(50)).requestCount == 1)
        #expect(seen.losses.isEmpty)
        held.readOn()
        #expect(seen.losses == [.stopped] && seen.releasedCount == 1)
        client.close()
    }
}

/// Counts bytes, and does what its way says.
///
/// SAFETY: `@unchecked Sendable` because the calls of a reader never overlap.
private final class Counter: BodyReader, @unchecked Sendable {
    private let way: String
    private let seen: Seen
    private let queue = DispatchQueue(label: "counter")
    private var byteCount = 0

    var text: String { "\(byteCount) bytes" }

    init(_ way: String, _ seen: Seen) {
        self.way = way
        self.seen = seen
    }

    deinit { seen.noteRelease() }

    func take(_ piece: Bytes, of exchange: Exchange) -> BodyProgress {
        seen.note(piece.count)
        byteCount += piece.count
        switch way {
        case "more":
            return .more
        case "hold":
            seen.hold(exchange)
        case "bad":
            queue.async {
                exchange.respond(.badRequest, body: .text("bad"))
            }
        default:
            queue.async { exchange.readOn() }
        }
        return .wait
    }

    func lose(_ reason: BodyLoss) { seen.add(reason) }
}

/// The events that the readers of a test have seen.
///
/// SAFETY: `@unchecked Sendable` because the queue guards the variables.
private final class Seen: @unchecked Sendable {
    private let queue = DispatchQueue(label: "seen")
    private let holds = DispatchSemaphore(value: 0)
    private var allLosses: [BodyLoss] = []
    private var bytesMax = 0
    private var releases = 0
    private var held: [Exchange] = []

    var losses: [BodyLoss] { queue.sync { allLosses } }
    var pieceBytesMax: Int { queue.sync { bytesMax } }
    var releasedCount: Int { queue.sync { releases } }

    func add(_ loss: BodyLoss) { queue.sync { allLosses.append(loss) } }
    func note(_ count: Int) { queue.sync { bytesMax = max(bytesMax, count) } }
    func noteRelease() { queue.sync { releases += 1 } }

    func hold(_ exchange: Exchange) {
        queue.sync { held.append(exchange) }
        holds.signal()
    }

    func nextHeld() throws -> Exchange {
        try #require(holds.isSignalled())
        return queue.sync { held.removeFirst() }
    }
}
