import Dispatch
import LatchkeyHTTP
import LatchkeyTestSupport
import Testing

/// A server whose handler does what the path says.
///
/// - `/now` answers at once, `/later` from another thread, both with the name of the thing.
/// - `/echo` answers with the body.
/// - `/owned` answers with the query, `/owned-long` with very many bytes, as bytes of an `Owner`.
/// - `/hold` answers with the body when ``letGo(_:)`` is called; so does `/wait`, without deadline.
/// - `/certificate` answers with the name in the client's certificate.
/// - `/etags` answers with all `If-None-Match` fields and their count.
/// - `/bad-field` tries to add a field with a line feed.
/// - Anything else is answered with its path, a space and its query.
///
/// A rejected request is answered with the status of its rejection, and the rejection's name.
final class TestServer: Sendable {
    static let targetBytesMax = 256
    static let headBytesMax = 1024
    static let bodyBytesMax = 1000
    static let longBytes = 8 << 20

    /// How it serves: a test argument.
    enum Mode: String, CaseIterable, Sendable {
        case eventLoops, oneEventLoop, encrypted

        var isEncrypted: Bool { self == .encrypted }
    }

    let server: HTTPServer
    let held: Held

    var port: UInt16 { server.port }

    init(
        _ mode: Mode,
        adjust: (inout HTTPServerConfiguration) -> Void = { _ in }
    ) throws {
        var configuration = Self.configuration(mode)
        adjust(&configuration)
        let held = Held()
        self.held = held
        server = try HTTPServer(configuration) { TestServer.handle($0, held) }
        encrypt(mode)
    }

    /// The next server that gets the port may be plain.
    deinit {
        EncryptedPorts.set(port, isEncrypted: false)
    }

    private func encrypt(_ mode: Mode) {
        EncryptedPorts.set(port, isEncrypted: mode.isEncrypted)
    }

    /// A server that answers `/stream` with a stream, `/bad-stream` with one that has a bad field,
    /// and gives the stream to `add`.
    init(
        _ mode: Mode,
        bufferBytesMax: Int,
        streaming events: ResponseStream.Events,
        add: @escaping @Sendable (ResponseStream) -> Void
    ) throws {
        let held = Held()
        self.held = held
        server = try HTTPServer(Self.configuration(mode)) { exchange in
            let path = String(decoding: exchange.path, as: UTF8.self)
            guard exchange.rejection == nil, path.hasSuffix("stream") else {
                TestServer.handle(exchange, held)
                return
            }
            let isBad = path == "/bad-stream"
            add(
                exchange.respond(.ok, streaming: events, bufferBytesMax: bufferBytesMax) {
                    $0.add("X-Kind", text: isBad ? "a\r\nb" : "stream")
                }
            )
        }
        encrypt(mode)
    }

    /// A server whose requests are answered by a router, from their head on.
    init(_ mode: Mode, _ router: Router) throws {
        held = Held()
        server = try HTTPServer(
            Self.configuration(mode),
            head: { router.handleHead($0) },
            handle: { router.handle($0) }
        )
        encrypt(mode)
    }

    static func configuration(_ mode: Mode) -> HTTPServerConfiguration {
        var configuration = HTTPServerConfiguration()
        configuration.port = 0
        // All clients have one address.
        configuration.clientShare = 1
        configuration.eventLoopCount = mode == .oneEventLoop ? 1 : 2
        configuration.identity = mode.isEncrypted ? identity : nil
        configuration.targetBytesMax = TestServer.targetBytesMax
        configuration.headBytesMax = TestServer.headBytesMax
        configuration.bodyBytesMax = TestServer.bodyBytesMax
        return configuration
    }

    private static let identity = {
        let certificate = TestCertificate()
        return TLSIdentity(certificates: certificate.certificate, key: certificate.key)
    }()

    private static func handle(_ exchange: Exchange, _ held: Held) {
        if let rejection = exchange.rejection {
            exchange.respond(rejection.status, body: .bytes(Array("\(rejection)".utf8)))
            return
        }
        switch String(decoding: exchange.path, as: UTF8.self) {
        case "/now":
            exchange.respond(.ok, body: .text("now")) {
                $0.add("Content-Type", "text/plain")
                $0.add("ETag", quoted: 18_446_744_073_709_551_615)
                $0.add("Retry-After", 0)
                $0.add("X-Text", text: "a" + "b")
                for number: UInt64 in [0, 7, 1250, 60_099, .max] {
                    $0.add("X-Thousandths", thousandths: number)
                }
            }
        case "/later":
            DispatchQueue.global().async { exchange.respond(.ok, body: .text("later")) }
        case "/echo":
            exchange.respond(.ok, body: .bytes(Array(exchange.body)))
        case "/owned":
            let owner = Owner(Array(exchange.query), released: held.released)
            unsafe exchange.respond(.ok, body: .owned(owner.bytes, owner: owner))
        case "/owned-long":
            let content = [UInt8](repeating: 0x78, count: longBytes)
            let owner = Owner(content, released: held.released)
            unsafe exchange.respond(.ok, body: .owned(owner.bytes, owner: owner))
        case "/hold":
            held.add(exchange)
        case "/wait":
            exchange.awaitAnswer(for: nil)
            held.add(exchange)
        case "/certificate":
            let text =
                switch exchange.clientCertificate {
                case .none: "none"
                case .valid(let name): name
                case .refused: "refused"
                }
            exchange.respond(.ok, body: .bytes(Array(text.utf8)))
        case "/etags":
            let joined = exchange.headers(named: .ifNoneMatch) ?? []
            let count = exchange.headerCount(named: .ifNoneMatch)
            exchange.respond(.ok, body: .bytes(Array("\(count) ".utf8) + joined))
        case "/known":
            let names = FieldName.allKnown.filter { exchange.hasHeader(named: $0.name) }
            let text = names.map(\.text).joined(separator: " ")
            exchange.respond(.ok, body: .bytes(Array(text.utf8)))
        case "/fields":
            let fields = AnswerFields(String(decoding: exchange.query, as: UTF8.self))
            exchange.respond(.ok, body: .bytes(Array(fields.text.utf8))) { fields.add(to: &$0) }
        case "/bad-field":
            exchange.respond(.ok) { $0.add("X-Text", "a\r\nX-Forged: b") }
        default:
            let text = Array(exchange.path) + [0x20] + Array(exchange.query)
            exchange.respond(.ok, body: .bytes(text))
        }
    }

    func client() throws -> RawClient {
        try RawClient(port: port)
    }

    /// Waits until the statistics are as they should be, and records an issue if they never are.
    func await(
        _ expectation: String,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ isMet: (HTTPServerStatistics) -> Bool
    ) async throws {
        // The server does not tell when its counts change.
        let hasCome = (try? eventually(expectation) { isMet(server.statistics) }) != nil
        let comment = Comment(rawValue: "never: \(expectation): \(server.statistics)")
        #expect(hasCome, comment, sourceLocation: sourceLocation)
    }

    /// The same, while time passes where the clock stands.
    ///
    /// The server does not tell when it first looks at a connection, from when its time counts.
    func pass(
        until expectation: String,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ isMet: (HTTPServerStatistics) -> Bool
    ) async throws {
        try await self.await(expectation, sourceLocation: sourceLocation) {
            server.pass(.milliseconds(20))
            return isMet($0)
        }
    }

    /// Answers the held requests, once there are this many.
    func letGo(_ count: Int) {
        held.letGo(count)
    }

    /// Waits until every connection is gone, and stops.
    func stop() async throws {
        try await pass(until: "no connections") { $0.connections == 0 }
        EncryptedPorts.set(port, isEncrypted: false)
        #expect(server.stop(within: Patience.duration) == (0, 0))
    }
}

/// Runs a body with a new server and one client of it, and stops the server.
func serving(
    _ mode: TestServer.Mode,
    _ body: (TestServer, RawClient) async throws -> Void
) async throws {
    let server = try TestServer(mode)
    let client = try server.client()
    try await body(server, client)
    client.close()
    try await server.stop()
}

/// Exchanges that wait for their answer.
///
/// SAFETY: `@unchecked Sendable` because the queue guards the array.
final class Held: @unchecked Sendable {
    let released = DispatchSemaphore(value: 0)
    private let queue = DispatchQueue(label: "held")
    private let added = DispatchSemaphore(value: 0)
    private var exchanges: [Exchange] = []

    func add(_ exchange: Exchange) {
        queue.sync { exchanges.append(exchange) }
        added.signal()
    }

    func letGo(_ count: Int) {
        for _ in 0..<count {
            guard added.isSignalled() else {
                Issue.record("fewer than \(count) requests are held")
                return
            }
        }
        let all = queue.sync {
            defer { exchanges = [] }
            return exchanges
        }
        for exchange in all {
            exchange.respond(.ok, body: .bytes(Array(exchange.body)))
        }
    }
}

/// Bytes that say when they are not needed any more.
///
/// SAFETY: `@safe` because the memory is the object's own from beginning to end.
@safe
private final class Owner {
    let bytes: UnsafeRawBufferPointer
    private let released: DispatchSemaphore

    init(_ content: [UInt8], released: DispatchSemaphore) {
        let memory = UnsafeMutableRawBufferPointer.allocate(
            byteCount: content.count,
            alignment: 1
        )
        unsafe memory.copyBytes(from: content)
        unsafe bytes = UnsafeRawBufferPointer(memory)
        self.released = released
    }

    deinit {
        unsafe bytes.deallocate()
        released.signal()
    }
}

extension HTTPStatus {
    static let badRequest = HTTPStatus(rawValue: 400)
    static let forbidden = HTTPStatus(rawValue: 403)
    static let notFound = HTTPStatus(rawValue: 404)
    static let methodNotAllowed = HTTPStatus(rawValue: 405)
}

extension Rejection {
    var status: HTTPStatus {
        let number: UInt16 =
            switch self {
            case .malformed: 400
            case .transferCoding: 501
            case .targetTooLong: 414
            case .headTooLarge: 431
            case .bodyTooLarge: 413
            case .connections, .draining, .memory: 503
            case .connectionsOfAddress: 429
            }
        return HTTPStatus(rawValue: number)
    }
}

extension HTTPServerStatistics {
    var inFlight: Int { receiving + handling + answering }
}
