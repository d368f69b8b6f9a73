import Foundation
import LatchkeyService
import LatchkeyTestSupport
import Testing

/// Profiles of contention, and its text, over HTTP.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct ProfileTests {
    private static let path = "/debug/pprof/mutex"

    @Test func `without the flag there is no profile, and the answer names the flag`() async throws
    {
        try await Deployment.inProcess.serve { site in
            let answer = try site.ask("GET", Self.path)
            #expect(answer.status == 404)
            #expect(answer.text.contains("/problems/profiling-off"))
            #expect(answer.text.contains("--profile"))
        }
    }

    @Test func `a profile is a gzip file, at once or in the end`() async throws {
        try await Deployment.inProcess.serve(["--profile"]) { site in
            for query in ["", "?seconds=1"] {
                let start = ContinuousClock.now
                let answer = try site.ask("GET", Self.path + query)
                #expect(answer.status == 200)
                #expect(answer.headers["content-type"] == "application/octet-stream")
                #expect(answer.body.starts(with: [0x1F, 0x8B, 8]))
                #expect(query.isEmpty || start.duration(to: .now) >= .seconds(1))
            }
        }
    }

    @Test(arguments: ["0", "61", "-1", "1.5", "", "x", "99999999999999999999", "1&seconds=2"])
    func `other times are refused`(seconds: String) async throws {
        for flags in [[], ["--profile"]] {
            try await Deployment.inProcess.serve(flags) { site in
                let answer = try site.ask("GET", "\(Self.path)?seconds=\(seconds)")
                #expect(answer.status == 400)
            }
        }
    }

    @Test func `contention is text for clients that want it`() async throws {
        try await Deployment.inProcess.serve(["--strategy", "spin", "--profile"]) { site in
            let text = try site.ask("GET", "/v1/contention", headers: ["Accept: text/plain"])
            #expect(text.headers["content-type"] == "text/plain; charset=utf-8")
            #expect(text.headers["vary"] == "Accept")
            #expect(text.text.contains("spin      serving"))
            #expect(text.text.contains("no contended access was recorded yet"))
            let json = try site.ask("GET", "/v1/contention", headers: ["Accept: */*"])
            #expect(json.headers["content-type"] == "application/json")
            #expect(json.headers["vary"] == "Accept")
        }
    }

    @Test func `a profile is not given to a client that has lost the right meanwhile`() async throws
    {
        let tokens = try Tokens(["one": ["admin"]])
        try await Deployment.inProcess.run(["--profile"] + tokens.flags) { site, service in
            let one = site.with(tokens, "one")
            let waiting = try one.asking("GET", "\(Self.path)?seconds=60")
            try one.awaitMetric("latchkey_http_suspended_requests", 1)
            try tokens.lines().replacing(" admin", with: " read")
                .write(toFile: tokens.path, atomically: true, encoding: .utf8)
            service.reload()
            service.drain()
            #expect(try waiting.answer().problem == "forbidden")
        }
    }

    @Test func `the ninth profile at once is refused, and a drain ends the others`() async throws {
        let flags = ["--profile", "--http-threads", "1"]
        try await Deployment.inProcess.run(flags) { site, service in
            let clients = try (0..<8).map { _ in
                let client = try site.asking("GET", "\(Self.path)?seconds=60")
                return client
            }
            // One thread serves: the answer shows that it is free, and has seen the others.
            try site.awaitMetric("latchkey_http_suspended_requests", 8)
            let refused = try site.ask("GET", "\(Self.path)?seconds=60")
            #expect(refused.status == 503)
            #expect(refused.text.contains("/problems/too-many-profiles"))
            service.drain()
            for client in clients { #expect(try client.answer().status == 200) }
        }
    }
}
