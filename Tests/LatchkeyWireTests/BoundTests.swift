import LatchkeyClient
import LatchkeyTestSupport
import Testing

/// What is beyond a bound is refused, and the service stays up.
@Suite(.timeLimit(.minutes(3)), .serialized)
struct BoundTests {
    /// At the bounds themselves the tests of LatchkeyHTTP look.
    @Test func `what the HTTP server refuses has a problem, and the service stays up`() async throws
    {
        let flags = ["--max-body-bytes", "1000", "--max-header-bytes", "2000"]
        try await Deployment.inProcess.serve(flags) { site in
            func answer(_ text: String) throws -> HTTPAnswer {
                let client = try site.client()
                try client.send(text)
                return try client.answer()
            }
            let (start, host) = ("PUT /v1/properties/a HTTP/1.1\r\n", "Host: 127.0.0.1\r\n")
            let long = "X-Long: \(String(repeating: "a", count: 2000))\r\n"
            for (request, problem, status) in [
                (
                    start + host + "Content-Length: 1001\r\nExpect: 100-continue\r\n\r\n",
                    "body-too-large", 413
                ),
                (
                    start + host + "Transfer-Encoding: chunked\r\n\r\n3e9\r\n"
                        + String(repeating: " ", count: 1001) + "\r\n0\r\n\r\n",
                    "body-too-large", 413
                ),
                (start + host + long + "\r\n", "headers-too-large", 431),
            ] {
                let refused = try answer(request)
                #expect(refused.problem == problem && refused.status == status, "\(refused)")
            }
            for junk in [
                "a b c d\r\n\r\n", "GET /healthz HTTP/1.1\r\n\r\n",
                "GET /healthz HTTP/3.0\r\n\(host)\r\n",
            ] {
                #expect([400, 505].contains(try answer(junk).status), "\(junk)")
            }
            try site.isWell()
        }
    }

    @Test(arguments: [Deployment.inProcess, .encrypted])
    func `probes are answered when there are as many connections as allowed`(
        deployment: Deployment
    ) async throws {
        let bounds = ["--max-connections", "3", "--client-share", "1/1"]
        try await deployment.serve(bounds) { site in
            let silent = try (0..<3).map { _ in try site.client() }
            for client in silent {
                #expect(try client.request("GET", "/healthz").status == 200, "accepted by now")
            }
            for _ in 0..<2 {
                let health = try site.client()
                let alive = try health.request("GET", "/healthz")
                #expect(alive.status == 200, "\(alive.text)")
                #expect(try health.isClosed())
                #expect(try site.ask("HEAD", "/healthz").status == 200)
                for target in ["/readyz", "/readyz?verbose", "/metrics"] {
                    let client = try site.client()
                    #expect(try client.request("GET", target).status == 200, "\(target)")
                    #expect(try client.isClosed())
                }
                // Those that are refused, as this one, are beyond the bound, not within it.
                let used = #"latchkey_bound_used{bound="max-connections",effect="refuses"} 3"#
                #expect(try site.ask("GET", "/metrics").text.contains("\n\(used)\n"))
                for target in ["/", "/v1/properties", "/v1/watch", "/v1/contention"] {
                    let full = try site.ask("GET", target)
                    #expect(full.status == 503)
                    #expect(full.problem == "too-many-connections")
                }
                // The reserve is no way around the checks of names and pages.
                let evil = try site.ask("GET", "/metrics", headers: ["Sec-Fetch-Site: cross-site"])
                #expect(evil.status == 403)
                #expect(try site.ask("POST", "/healthz").status == 503)
                let scheme = deployment == .encrypted ? "https" : "http"
                let origin = "\(scheme)://127.0.0.1:\(site.port)"
                let probe = ServiceConnection(
                    origin: origin,
                    verifies: false,
                    timeLimit: .seconds(20)
                )
                #expect(try probe.get("/healthz").status == 200, "latchkey health")
            }
            withExtendedLifetime(silent) {}
        }
    }

    /// A replica has no backlog: changes wait for the log.
    @Test func `a full backlog is refused and applied later`() async throws {
        let flags = ["--backlog", "1", "--stripes", "1", "--strategy", "serial-queue-async"]
        try await Deployment.inProcess.serve(flags) { site in
            let refused = Arrivals()
            let applied = Arrivals()
            let haveEnded = TestThread.run(8) { _ in
                guard let client = try? site.client() else {
                    return
                }
                for _ in 0..<200 {
                    guard let answer = try? client.request("POST", "/v1/properties/n/increment")
                    else {
                        return
                    }
                    if answer.status == 200 {
                        applied.arrive()
                    } else if answer.problem == "backlog-full", answer.headers["retry-after"] == "1"
                    {
                        refused.arrive()
                    }
                }
            }
            #expect(haveEnded)
            #expect(applied.value + refused.value == 1600)
            let count = try site.ask("GET", "/v1/properties/n").text
            #expect(count == "\(applied.value)")
        }
    }
}
