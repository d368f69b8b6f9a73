import LatchkeyClient
import LatchkeyService
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import latchkey

/// Each bound: a request at the bound is served, one above it is refused, and the service stays up.
@Suite(.timeLimit(.minutes(3)), .serialized)
struct BoundTests {
    @Test(arguments: Deployment.allCases)
    func `bodies are bounded, declared and chunked`(deployment: Deployment) async throws {
        try await deployment.serve(["--max-body-bytes", "1000"]) { site in
            func value(_ count: Int) -> [UInt8] {
                [0x22] + Array(repeating: 0x61, count: count - 2) + [0x22]
            }
            func chunked(_ body: [UInt8]) throws -> HTTPAnswer {
                let client = try site.client()
                try client.send(
                    "PUT /v1/properties/b HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                        + "Transfer-Encoding: chunked\r\n\r\n"
                )
                for start in stride(from: 0, to: body.count, by: 300) {
                    let piece = body[start..<min(start + 300, body.count)]
                    try client.send("\(String(piece.count, radix: 16))\r\n")
                    try client.send(Array(piece) + [0x0D, 0x0A])
                }
                try client.send("0\r\n\r\n")
                return try client.answer()
            }
            #expect(
                try site.client().request("PUT", "/v1/properties/a", body: value(1000)).status
                    == 201
            )
            #expect(try chunked(value(1000)).status == 201)
            for answer in [
                try site.client().request("PUT", "/v1/properties/a", body: value(1001)),
                try chunked(value(1001)),
            ] {
                #expect(answer.problem == "body-too-large")
                #expect(answer.status == 413)
            }
            let client = try site.client()
            try client.send(
                "PUT /v1/properties/a HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1001\r\n"
                    + "Expect: 100-continue\r\n\r\n"
            )
            #expect(try client.answer().status == 413, "before the body is sent")
            #expect(try site.ask("GET", "/v1/properties/a").body == value(1000))
        }
    }

    @Test(arguments: Deployment.withoutClusters)
    func `targets and header fields are bounded`(deployment: Deployment) async throws {
        let flags = ["--max-header-bytes", "2000"]
        try await deployment.serve(flags, limits: "max-target-bytes=300") { site in
            let short = "/v1/properties?prefix=" + String(repeating: "a", count: 300 - 22)
            #expect(try site.ask("GET", short).status != 414)
            let answer = try site.ask("GET", short + "a")
            #expect(answer.problem == "target-too-long")
            #expect(answer.status == 414)
            let field = "X-Long: " + String(repeating: "a", count: 1000)
            #expect(try site.ask("GET", "/healthz", headers: [field]).status == 200)
            let long = try site.ask("GET", "/healthz", headers: [field, field])
            #expect(long.problem == "headers-too-large")
            #expect(long.status == 431)
            try site.isWell()
        }
    }

    @Test(arguments: Deployment.allCases)
    func `properties and bytes are bounded`(deployment: Deployment) async throws {
        try await deployment.serve(["--max-properties", "2", "--max-bytes", "100"]) { site in
            #expect(try site.ask("PUT", "/v1/properties/a", "1").status == 201)
            #expect(try site.ask("POST", "/v1/properties/b/increment").status == 200)
            for answer in [
                try site.ask("PUT", "/v1/properties/c", "1"),
                try site.ask("POST", "/v1/properties/c/increment"),
                try site.ask(
                    "PUT",
                    "/v1/properties/a",
                    "\"\(String(repeating: "a", count: 100))\""
                ),
            ] {
                #expect(answer.problem == "store-full")
                #expect(answer.status == 507)
            }
            #expect(try site.ask("GET", "/v1/properties/a").text == "1")
            #expect(try site.ask("DELETE", "/v1/properties/a").status == 204)
            #expect(try site.ask("PUT", "/v1/properties/c", "1").status == 201)
        }
    }

    @Test(arguments: Deployment.withoutClusters, [[], ["--thread-per-connection"]])
    func `connections are bounded`(deployment: Deployment, flags: [String]) async throws {
        let bounds = ["--max-connections", "3", "--client-share", "1/1"]
        try await deployment.serve(flags + bounds) { site in
            let clients = try (0..<3).map { _ in try site.client() }
            for client in clients {
                #expect(try client.request("GET", "/healthz").status == 200)
            }
            let refused = try site.client()
            let answer = try refused.request("GET", "/v1/properties")
            #expect(answer.problem == "too-many-connections")
            #expect(answer.status == 503)
            #expect(answer.headers["retry-after"] != nil)
            #expect(try refused.isClosed())
            for client in clients {
                #expect(try client.request("GET", "/healthz").status == 200)
            }
        }
    }

    @Test(arguments: Deployment.withoutClusters, [[], ["--thread-per-connection"]])
    func `probes are answered when there are as many connections as allowed`(
        deployment: Deployment,
        flags: [String]
    ) async throws {
        let bounds = ["--max-connections", "3", "--client-share", "1/1"]
        try await deployment.serve(flags + bounds) { site in
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

    @Test(arguments: Deployment.withoutClusters)
    func `connections of one address are bounded`(deployment: Deployment) async throws {
        try await deployment.serve(["--max-connections-per-address", "1"]) { site in
            let client = try site.client()
            #expect(try client.request("GET", "/healthz").status == 200)
            let answer = try site.ask("GET", "/v1/properties")
            #expect(answer.problem == "too-many-connections-per-address")
            #expect(answer.status == 429)
            for probe in ["/healthz", "/readyz", "/metrics"] {
                #expect(try site.ask("GET", probe).status == 200)
            }
        }
    }

    @Test(arguments: Deployment.withoutClusters, [[], ["--thread-per-connection"]])
    func `a request that dribbles in times out`(
        deployment: Deployment,
        flags: [String]
    ) async throws {
        try await deployment.serve(flags + ["--request-timeout-seconds", "2"]) { site in
            for start in [
                "GET /healthz HTT",
                "PUT /v1/properties/slow HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                    + "Content-Length: 5\r\n\r\n12",
            ] {
                let client = try site.client()
                try client.send(start)
                if deployment.writesPastLibrary {
                    let answer = try client.answer()
                    #expect(answer.problem == "request-timeout")
                    #expect(answer.status == 408)
                }
                #expect(try client.isClosed())
            }
            #expect(try site.ask("GET", "/v1/properties/slow").status == 404)
            try site.isWell()
        }
    }

    @Test(arguments: Deployment.withoutClusters)
    func `junk is answered or closed, and no other client notices`(
        deployment: Deployment
    ) async throws {
        try await deployment.serve { site in
            let other = try site.client()
            let answered = [
                "hello world\r\n\r\n", "a b c d\r\n\r\n",
                "GET /healthz\u{0} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
                "GET /healthz HTTP/1.1\r\n\r\n", "GET /healthz HTTP/1.2\r\n\r\n",
                "GET /healthz HTTP/3.0\r\nHost: 127.0.0.1\r\n\r\n",
                "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX(Y: 1\r\n\r\n",
                "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: x\r\n\r\n",
            ]
            for text in answered {
                let client = try site.client()
                try client.send(text)
                if deployment.writesPastLibrary || !text.contains("Length: x") {
                    let answer = try client.answer()
                    #expect(answer.status == 400 || answer.status == 505, "\(text)")
                } else {
                    #expect(try client.isClosed())
                }
                #expect(try other.request("GET", "/healthz").status == 200)
            }
            // What has no request line is closed, which libmicrohttpd does by itself.
            let closed: [[UInt8]] = [
                Array("hello\r\n\r\n".utf8), Array("SSH-2.0-OpenSSH_9.2\r\n\r\n".utf8),
                [0x16, 0x03, 0x01, 0x02, 0x00], Array(repeating: 0x0A, count: 5000),
                Array(repeating: 0xFF, count: 100_000),
            ]
            for bytes in closed {
                let client = try site.client()
                try? client.send(bytes)
                client.endSending()
                if let answer = try? client.answer() {
                    #expect((400...505).contains(answer.status), "\(bytes.prefix(20))")
                }
                #expect(try other.request("GET", "/healthz").status == 200)
            }
        }
    }

    /// A replica has no backlog: changes wait for the log.
    @Test(arguments: Deployment.withoutClusters)
    func `a full backlog is refused and applied later`(deployment: Deployment) async throws {
        let flags = ["--backlog", "1", "--stripes", "1", "--strategy", "serial-queue-async"]
        try await deployment.serve(flags) { site in
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
