import LatchkeyHTTP
import LatchkeyTestSupport
import Testing

@Suite(.timeLimit(.minutes(15)), .offPool)
struct HTTPServerTests {
    typealias Mode = TestServer.Mode

    @Test(arguments: Mode.allCases)
    func `a draining server finishes what it has and takes nothing new`(mode: Mode) async throws {
        let server = try TestServer(mode)
        let busy = try server.client()
        let idle = try server.client()
        #expect(idle.ask(get("/now")).status == 200)
        busy.send(put("/hold", "held"))
        try await server.await("a suspended request") { $0.suspended == 1 && $0.inFlight == 1 }
        let draining = server.server
        let stopping = TestThread { #expect(draining.stop(within: Patience.duration) == (0, 0)) }
        // Clients that connect before it stops listening leave again.
        while (try? server.client()) != nil {
            await Task.yield()
        }
        let refused = idle.ask(get("/now"))
        #expect(refused.status == 503 && refused.text == "draining")
        #expect(refused.closes && idle.seesEnd())
        server.letGo(1)
        let finished = busy.read()
        #expect(finished.status == 200 && finished.text == "held")
        #expect(finished.closes && busy.seesEnd())
        #expect(stopping.join())
    }

    @Test(arguments: Mode.allCases)
    func `an answer after the end is discarded`(mode: Mode) async throws {
        let server = try TestServer(mode) { $0.unknownBody = "unknown" }
        let writer = try server.client()
        let reader = try server.client()
        writer.send(put("/hold", "held"))
        reader.send(get("/hold"))
        try await server.await("two suspended requests") { $0.suspended == 2 }
        #expect(server.server.stop(within: .zero) == (2, 0))
        let unknown = writer.read()
        #expect(unknown.status == 500 && unknown.text == "unknown" && unknown.closes)
        #expect(writer.seesEnd())
        let refused = reader.read()
        #expect(refused.status == 503 && refused.closes)
        #expect(refused.field("Retry-After") != nil)
        server.letGo(2)
    }

    @Test func `a port that is taken is an error that says so`() async throws {
        let server = try TestServer(.eventLoops)
        let error = #expect(throws: HTTPServerError.self) {
            try TestServer(.eventLoops) { $0.port = server.port }
        }
        #expect(error?.code == .addressInUse)
        #expect(error?.cause?.call == "bind")
        #expect(error?.description.hasSuffix("(bind: Address already in use)") == true)
        try await server.stop()
    }

    @Test func `a host without an address is an error that says so`() {
        let error = #expect(throws: HTTPServerError.self) {
            try TestServer(.eventLoops) { $0.host = "256.0.0.1" }
        }
        #expect(error?.code == .addressUnknown)
        #expect(error?.description.hasSuffix("(getaddrinfo: Name or service not known)") == true)
    }

    @Test(
        arguments: [
            { $0.eventLoopCount = 0 }, { $0.connectionsMax = 0 }, { $0.bodyBytesMax = -1 },
            { $0.headBytesMax = 10 }, { $0.idleTimeout = .zero },
        ] as [@Sendable (inout HTTPServerConfiguration) -> Void]
    )
    func `a configuration out of its bounds is an error`(
        adjust: @Sendable (inout HTTPServerConfiguration) -> Void
    ) {
        let error = #expect(throws: HTTPServerError.self) {
            try TestServer(.eventLoops, adjust: adjust)
        }
        #expect(error?.code == .configuration)
    }
}
