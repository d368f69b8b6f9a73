import LatchkeyFrame
import LatchkeyService
import LatchkeyStrategies
import LatchkeyTestSupport
import Synchronization
import Testing

@testable import latchkey

/// The second port, for probes, monitoring and profiles.
@Suite(.timeLimit(.minutes(15)))
struct AdminPortTests {
    private func serve(
        _ flags: [String],
        _ body: @escaping @Sendable (RunningService, _ site: Site, _ admin: Site) throws -> Void
    ) async throws {
        let common = ["--port", "0", "--admin-port", "0", "--log-level", "error"]
        let service = try RunningService(ServeCommand.configuration(common + flags))
        let admin = Site(port: try #require(service.adminPort))
        for port in [service.port, admin.port] { EncryptedPorts.set(port, isEncrypted: false) }
        try await offPool { try body(service, Site(port: service.port), admin) }
    }

    @Test func `it serves when all connections of the first port are taken`() async throws {
        let bounds = ["--max-connections", "4", "--client-share", "1/1"]
        try await serve(bounds) { service, site, admin in
            let silent = try (0..<4).map { _ in try site.client() }
            try admin.awaitMetric("latchkey_http_connections_accepted_total", 4)
            #expect(try site.ask("GET", "/v1/strategies").status == 503)
            for path in [
                "/healthz", "/readyz", "/metrics", "/v1/contention", "/v1/strategies",
                "/v1/strategy", "/v1/overview", "/v1/watches", "/v1/cluster",
            ] {
                #expect(try admin.ask("GET", path).status == 200, "\(path)")
            }
            #expect(try admin.ask("POST", "/v1/contention/reset").status == 204)
            #expect(try admin.ask("GET", "/debug/pprof/mutex").problem == "profiling-off")
            for path in ["/v1/properties/a", "/v1/watch", "/", "/v1/session"] {
                #expect(try admin.ask("GET", path).problem == "no-route", "\(path)")
            }
            withExtendedLifetime(silent) {}
            #expect(service.drain().isWritten)
            #expect(throws: (any Error).self) { try admin.client() }
        }
    }

    /// A client that waits for readiness sends its first request at once.
    @Test func `a client that is told that the service is ready is served`() async throws {
        let folder = try TemporaryFolder()
        try await offPool {
            for _ in 0..<5 {
                let (port, adminPort) = (try EtcdProcesses.freePort(), try EtcdProcesses.freePort())
                let isOver = Atomic(false)
                let first = Synchronized<[Int?], LockStrategy>([])
                let looking = [port, adminPort].map { probed in
                    TestThread {
                        while !isOver.load(ordering: .acquiring) {
                            let ready = try? Site(port: probed).ask("GET", "/readyz")
                            guard ready?.status == 200 else { continue }
                            let answer = try? Site(port: port).ask("GET", "/v1/count")
                            return first.write { $0.append(answer?.status) }
                        }
                    }
                }
                defer { for thread in looking { thread.join() } }
                defer { isOver.store(true, ordering: .releasing) }
                let service = try RunningService(
                    ServeCommand.configuration([
                        "--port", "\(port)", "--admin-port", "\(adminPort)", "--log-level", "error",
                        "--data", folder.path + "/data",
                    ])
                )
                try eventually("both are told") { first.read { $0.count } == 2 }
                #expect(first.read { $0 } == [200, 200])
                #expect(service.drain().isWritten)
            }
        }
    }

    /// Entries into the guarded sections of the store.
    private static func entryCount(_ admin: Site) throws -> Int {
        try admin.ask("GET", "/metrics").text.split(separator: "\n")
            .filter { $0.hasPrefix("latchkey_lock_acquisitions_total{") }
            .reduce(0) { sum, line in
                sum + (try #require(line.split(separator: " ").last.flatMap { Int($0) }))
            }
    }

    /// Four clients that counted made a probe take 90 ms, issue 46: its thread entered the store.
    @Test func `its thread never enters the store`() async throws {
        try await serve([]) { service, site, admin in
            let before = try Self.entryCount(admin)
            _ = try site.ask("PUT", "/v1/properties/a", "1")
            let count = try Self.entryCount(admin)
            #expect(count > before)
            for path in [
                "/healthz", "/readyz?verbose", "/metrics", "/v1/contention", "/v1/strategies",
                "/v1/overview", "/v1/watches", "/v1/cluster", "/version",
            ] {
                #expect(try admin.ask("GET", path).status == 200, "\(path)")
            }
            #expect(try Self.entryCount(admin) == count)
            #expect(service.drain().isWritten)
        }
    }

    @Test func `it says that the service drains, until that is over`() async throws {
        try await serve([]) { service, site, admin in
            let client = try site.client()
            try client.send(
                "PUT /v1/properties/late HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n"
                    + "Expect: 100-continue\r\n\r\n"
            )
            #expect(try client.answer().status == 100)
            let draining = TestThread { _ = service.drain() }
            try eventually("it is not ready") {
                try admin.ask("GET", "/readyz?verbose").status == 503
            }
            #expect(try admin.ask("GET", "/readyz?verbose").text.contains("is shutting down"))
            #expect(try admin.ask("GET", "/healthz").status == 200)
            try client.send("1")
            #expect(try client.answer().status == 201)
            draining.join()
        }
    }

    @Test func `it asks for tokens as the first port does`() async throws {
        let tokens = try Tokens(["see": ["read"], "boss": ["admin"]])
        try await serve(tokens.flags) { service, _, admin in
            #expect(try admin.ask("GET", "/metrics").status == 401)
            let ready = try admin.ask("GET", "/readyz")
            #expect(ready.status == 200)
            let (path, body) = ("/v1/strategy", #"{"strategy":"lock"}"#)
            for (name, status) in [("see", 403), ("boss", 200)] {
                let headers = tokens.headers(name)
                #expect(try admin.ask("PUT", path, body, headers: headers).status == status)
                #expect(try admin.ask("GET", path, headers: headers).status == 200)
            }
            #expect(try admin.ask("GET", path).status == 401)
            let reset = "/v1/contention/reset"
            #expect(try admin.ask("POST", reset, headers: tokens.headers("see")).status == 403)
            #expect(try admin.ask("POST", reset, headers: tokens.headers("boss")).status == 204)
            _ = service.drain()
        }
    }
}
