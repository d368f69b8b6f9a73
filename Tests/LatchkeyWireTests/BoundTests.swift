import LatchkeyClient
import LatchkeyTestSupport
import Testing

/// Requests beyond a limit are refused, and the service stays up.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct BoundTests {
    @Test func `a value that the disk does not keep is refused, however it comes to be`()
        async throws
    {
        try await Deployment.data.serve(limits: "max-value-bytes=10") { site in
            let long = #""123456789""#
            for (method, target, body) in [
                ("PUT", "/v1/properties/a", long),
                ("POST", "/v1/transactions", #"{"then":[{"put":"a","value":\#(long)}]}"#),
            ] {
                let refused = try site.ask(method, target, body)
                #expect(refused.status == 413 && refused.problem == "body-too-large", "\(refused)")
            }
            #expect(try site.ask("PUT", "/v1/properties/a", #"{"a":1}"#).status == 201)
            let merged = try site.ask("PATCH", "/v1/properties/a", #"{"b":12}"#)
            #expect(merged.status == 422 && merged.problem == "value-too-large", "\(merged)")
            #expect(try site.ask("PUT", "/v1/properties/a", #""12345678""#).status == 204)
            #expect(try site.ask("GET", "/readyz").status == 200)
        }
    }

    /// The tests of LatchkeyHTTP check the limits themselves.
    @Test func `a request that the HTTP server refuses has a problem, and the service stays up`()
        async throws
    {
        let flags = ["--max-body-bytes", "1000", "--max-header-bytes", "2000"]
        try await Deployment.inProcess.serve(flags) { site in
            let start = "PUT /v1/properties/a HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            let (spaces, letters) = (
                String(repeating: " ", count: 1001), String(repeating: "a", count: 2000)
            )
            for (rest, problem, status) in [
                ("Content-Length: 1001\r\nExpect: 100-continue\r\n\r\n", "body-too-large", 413),
                (
                    "Transfer-Encoding: chunked\r\n\r\n3e9\r\n\(spaces)\r\n0\r\n\r\n",
                    "body-too-large", 413
                ),
                ("X-Long: \(letters)\r\n\r\n", "headers-too-large", 431),
            ] {
                let refused = try site.sending(start + rest).answer()
                #expect(refused.problem == problem && refused.status == status, "\(refused)")
            }
            #expect(try site.sending("a b c d\r\n\r\n").answer().status == 400)
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
                for target in ["/healthz", "/readyz", "/readyz?verbose", "/metrics"] {
                    let client = try site.asking("GET", target)
                    #expect(try client.answer().status == 200, "\(target)")
                    #expect(try client.isClosed())
                }
                #expect(try site.ask("HEAD", "/healthz").status == 200)
                // Refused ones, as this one, are beyond the limit, not within it.
                let used = #"latchkey_bound_used{bound="max-connections",effect="refuses"} 3"#
                #expect(try site.ask("GET", "/metrics").text.contains("\n\(used)\n"))
                for target in ["/", "/v1/properties", "/v1/watch", "/v1/contention"] {
                    #expect(try site.ask("GET", target).problem == "too-many-connections")
                }
                // The reserve is no way around the checks of names and pages.
                let evil = try site.ask("GET", "/metrics", headers: ["Sec-Fetch-Site: cross-site"])
                #expect(evil.status == 403)
                #expect(try site.ask("POST", "/healthz").status == 503)
                let scheme = deployment == .encrypted ? "https" : "http"
                let origin = "\(scheme)://127.0.0.1:\(site.port)"
                let limit = Patience.duration
                let probe = ServiceConnection(origin: origin, verifies: false, timeLimit: limit)
                #expect(try probe.get("/healthz").status == 200, "latchkey health")
            }
            withExtendedLifetime(silent) {}
        }
    }

    /// A replica has no backlog: changes wait for the log.
    @Test func `a full backlog is refused and applied later`() async throws {
        let flags = ["--backlog", "1", "--stripes", "1", "--strategy", "serial-queue-async"]
        try await Deployment.inProcess.serve(flags) { site in
            let (refused, applied) = (Arrivals(), Arrivals())
            let haveEnded = TestThread.run(8) { _ in
                guard let client = try? site.client() else { return }
                for _ in 0..<200 {
                    let answer = try? client.request("POST", "/v1/properties/n/increment")
                    let isRefused = answer?.problem == "backlog-full"
                    if answer?.status == 200 { applied.arrive() }
                    if isRefused, answer?.headers["retry-after"] == "1" { refused.arrive() }
                }
            }
            #expect(haveEnded)
            #expect(applied.value + refused.value == 1600)
            let count = try site.ask("GET", "/v1/properties/n").text
            #expect(count == "\(applied.value)")
        }
    }
}
