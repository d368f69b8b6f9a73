import Foundation
import LatchkeyTestSupport
import Testing

/// What a client has given up gives its place back at once.
@Suite(.timeLimit(.minutes(3)), .serialized)
struct GivenUpTests {
    private static let ways = ["lock", "actor", "barrier-queue-async"].map { ["--strategy", $0] }

    /// Sends requests, one on each connection, and closes the connections once all of them wait.
    private func giveUp(_ count: Int, _ target: String, at site: Site) throws {
        let clients = try (0..<count).map { _ in
            let client = try site.client()
            try client.send("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return client
        }
        try site.awaitMetric("latchkey_http_suspended_requests", count)
        withExtendedLifetime(clients) {}
    }

    /// In a process of its own: in this one, the threads for actors are busy with other tests, and
    /// a poll under `actor` gives its place back behind a read.
    @Test(arguments: ways)
    func `polls that were given up give their places back`(flags: [String]) async throws {
        let bound = ["--max-watchers", "20", "--client-share", "1/1"]
        try await Deployment.program.serve(flags + bound) { site in
            let start = ContinuousClock.now
            for _ in 0..<3 {
                try giveUp(20, "/v1/properties/n?after=0&wait=60", at: site)
                try site.awaitMetric("latchkey_watchers", 0)
                // The next round counts those that wait: none of these may be among them.
                try site.awaitMetric("latchkey_http_suspended_requests", 0)
            }
            #expect(ContinuousClock.now - start < .seconds(45), "before the time of a poll")
            // Others still wait for what they wait for.
            let poll = try site.client()
            try poll.send(
                "GET /v1/properties/n?after=0&wait=60 HTTP/1.1\r\nHost: localhost\r\n\r\n"
            )
            try site.awaitMetric("latchkey_watchers", 1)
            _ = try site.ask("PUT", "/v1/properties/n", "1")
            #expect(try poll.answer().text == "1")
        }
    }

    @Test func `profiles that were given up give their places back`() async throws {
        try await Deployment.inProcess.serve(["--profile"]) { site in
            try giveUp(8, "/debug/pprof/mutex?seconds=60", at: site)
            try eventually("a place is free") {
                try site.ask("GET", "/debug/pprof/mutex?seconds=1").status == 200
            }
        }
    }
}
