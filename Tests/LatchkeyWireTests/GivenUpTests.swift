import LatchkeyTestSupport
import Testing

/// A request that its client has given up frees its place at once.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct GivenUpTests {
    private static let poll =
        "GET /v1/properties/n?after=0&wait=60 HTTP/1.1\r\nHost: localhost\r\n\r\n"

    /// Sends requests, one on each connection, and closes the connections once this many wait.
    private func giveUp(_ count: Int, _ request: String, until waiting: Int, at site: Site) throws {
        let clients = try (0..<count).map { _ in
            let client = try site.client()
            try client.send(request)
            return client
        }
        try site.awaitMetric("latchkey_http_suspended_requests", waiting)
        withExtendedLifetime(clients) {}
    }

    @Test(arguments: [Deployment.inProcess, .serialQueueAsync, .actor])
    func `polls that were given up give their places back`(deployment: Deployment) async throws {
        let bound = ["--max-watchers", "20", "--client-share", "1/1"]
        try await deployment.serve(bound) { site in
            // It still waits when the others are gone: their time was not up.
            let kept = try site.client()
            try kept.send(Self.poll)
            try site.awaitMetric("latchkey_watchers", 1)
            try giveUp(19, Self.poll, until: 20, at: site)
            try site.awaitMetric("latchkey_watchers", 1)
            _ = try site.ask("PUT", "/v1/properties/n", "1")
            #expect(try kept.answer().text == "1")
        }
    }

    @Test func `profiles that were given up give their places back`() async throws {
        try await Deployment.inProcess.serve(["--profile"]) { site in
            let profile = "GET /debug/pprof/mutex?seconds=60 HTTP/1.1\r\nHost: localhost\r\n\r\n"
            try giveUp(8, profile, until: 8, at: site)
            try eventually("a place is free") {
                try site.ask("GET", "/debug/pprof/mutex?seconds=1").status == 200
            }
        }
    }
}
