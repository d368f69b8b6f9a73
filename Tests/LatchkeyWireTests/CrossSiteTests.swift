import LatchkeyTestSupport
import Testing

/// Requests that a page of another site has a browser send.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct CrossSiteTests {
    /// Each would change `p`, or something else.
    private static let writes = [
        ("POST", "/v1/transactions", #"{"then":[{"put":"p","value":2}]}"#),
        ("POST", "/v1/operations", #"{"steps":[{"put":"p","value":2}]}"#),
        ("POST", "/v1/import?partial=true", #"{"name":"p","value":2}"#),
        ("POST", "/v1/properties/p/increment", ""),
        ("POST", "/v1/contention/reset", ""), ("PUT", "/v1/strategy", #"{"strategy":"spin"}"#),
        ("PUT", "/v1/properties/p", "2"),
        ("PATCH", "/v1/properties/p", "2"),
        ("DELETE", "/v1/properties/p", ""),
        ("POST", "/nowhere", ""),
        ("BREW", "/v1/properties/p", ""),
    ]

    /// Sends a request without a `Content-Type`, as a form of another site can.
    private static func ask(
        _ site: Site,
        _ method: String,
        _ path: String,
        _ body: String = "",
        _ fields: String...
    ) throws -> HTTPAnswer {
        let head = ["\(method) \(path) HTTP/1.1", "Host: localhost:\(site.port)"] + fields
        let lines = head + ["Content-Length: \(body.utf8.count)", "", body]
        return try site.sending(lines.joined(separator: "\r\n")).answer(toHEAD: method == "HEAD")
    }

    @Test func `a page of another site changes nothing`() async throws {
        try await Deployment.inProcess.serve { site in
            _ = try site.ask("PUT", "/v1/properties/p", "1")
            let others = [
                "http://evil.example", "https://evil.example:\(site.port)", "null", "",
                "http://localhost", "http://localhost:1\(site.port)", "localhost:\(site.port)",
                "http://127.0.0.1:\(site.port)", "http://evil.localhost:\(site.port)",
                "ftp://localhost:\(site.port)", "http://evil.example/localhost:\(site.port)",
            ]
            for (method, path, body) in Self.writes {
                for fields in others.map({ "Origin: \($0)" })
                    + ["cross-site", "same-site", "none", "same-origin, none"].map({
                        "Origin: http://evil.example\r\nSec-Fetch-Site: \($0)"
                    })
                {
                    let answer = try Self.ask(site, method, path, body, fields)
                    #expect(answer.problem == "cross-site-request", "\(method) \(path) \(fields)")
                }
            }
            #expect(try site.ask("GET", "/v1/properties/p").text == "1")
            #expect(try site.ask("GET", "/v1/operations").text.contains(#""operations":[]"#))
        }
    }

    @Test func `a page of the service, and a client that is no browser, can write`() async throws {
        try await Deployment.inProcess.serve { site in
            for (method, path, body) in Self.writes.dropLast(2) {
                let type = method == "PATCH" ? "Content-Type: application/merge-patch+json" : "X: y"
                for fields in [
                    "Y: z", "Origin: http://localhost:\(site.port)",
                    "Origin: https://LocalHost:\(site.port)",
                    "Origin: https://state.example\r\nSec-Fetch-Site: same-origin",
                ] {
                    _ = try site.ask("PUT", "/v1/properties/p", "1")
                    let answer = try Self.ask(site, method, path, body, type, fields)
                    #expect((200..<300).contains(answer.status), "\(method) \(path) \(fields)")
                }
            }
        }
    }

    /// The header lines of a browser, and whether its request is served.
    private static let reads: [([String], Bool)] = [
        ([], true),
        (["Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"], true),
        (["Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty"], true),
        (["Sec-Fetch-Site: same-origin", "Origin: https://proxied.example"], true),
        (["Origin: http://localhost:PORT"], true),
        (["Sec-Fetch-Site: none", "Origin: http://localhost:PORT"], true),
        (["Sec-Fetch-Site: cross-site"], false),
        (["Sec-Fetch-Site: same-site"], false),
        (["Sec-Fetch-Site: new-word"], false),
        (
            ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: object"],
            false
        ),
        (
            ["Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"],
            false
        ),
        (["Sec-Fetch-Site: cross-site", "Origin: http://localhost:PORT"], false),
        (["Origin: http://evil.example"], false),
        (["Origin: http://localhost:1"], false),
        (["Origin: null"], false),
        (["Sec-Fetch-Site: none", "Origin: http://evil.example"], false),
    ]

    @Test func `a page of another site reads nothing, and cannot tell what is there`() async throws
    {
        try await Deployment.inProcess.serve { site in
            _ = try site.ask("PUT", "/v1/properties/p", "1")
            let paths = [
                ("/v1/properties/p", 200), ("/v1/properties/q", 404), ("/metrics", 200),
                ("/healthz", 200), ("/nowhere", 404), ("/v1/export", 200), ("/", 200),
            ]
            for (fields, isServed) in Self.reads {
                let fields = fields.map { $0.replacing("PORT", with: "\(site.port)") }
                let head = fields.isEmpty ? "X: y" : fields.joined(separator: "\r\n")
                for (path, status) in paths {
                    for method in ["GET", "HEAD", "OPTIONS"] {
                        let answer = try Self.ask(site, method, path, "", head)
                        let served = method == "OPTIONS" && path != "/nowhere" ? 204 : status
                        let expected = isServed ? served : 403
                        #expect(answer.status == expected, "\(method) \(path) \(fields)")
                        #expect(answer.headers["access-control-allow-origin"] == nil)
                        #expect(answer.headers["vary"] != "Origin")
                    }
                }
            }
        }
    }

    @Test func `a link of another site leads to the dashboard, and nowhere else`() async throws {
        try await Deployment.inProcess.serve { site in
            try site.isWell()
            for relation in ["cross-site", "same-site"] {
                let visit = [
                    "Sec-Fetch-Site: \(relation)", "Sec-Fetch-Mode: navigate",
                    "Sec-Fetch-Dest: document",
                ]
                #expect(try site.ask("GET", "/", headers: visit).status == 200)
                #expect(try site.ask("HEAD", "/", headers: visit).status == 200)
                #expect(try site.ask("GET", "/v1/properties", headers: visit).status == 403)
                #expect(try site.ask("POST", "/", headers: visit).status == 403)
            }
        }
    }

    /// An `EventSource` of another site with the name of an observer.
    @Test func `a page of another site does not end a watch`() async throws {
        try await Deployment.inProcess.serve { site in
            let watch = try site.stream("/v1/watch?observer=mine")
            for fields in [
                ["Sec-Fetch-Site: cross-site", "Origin: http://evil.example"],
                ["Sec-Fetch-Site: same-site", "Origin: http://localhost:3000"],
                ["Origin: http://evil.example"], ["Sec-Fetch-Site: cross-site"],
            ] {
                let headers = fields + ["Accept: text/event-stream"]
                let answer = try site.ask("GET", "/v1/watch?observer=mine", headers: headers)
                #expect(answer.problem == "cross-site-request")
            }
            _ = try site.ask("PUT", "/v1/properties/p", "1")
            #expect(try watch.next()?.type == "put")
        }
    }

    @Test func `a page of an allowed origin reads, writes and watches`() async throws {
        let flags = ["--allow-origin", "https://app.example,http://localhost:3000"]
        try await Deployment.inProcess.serve(flags) { site in
            for origin in ["https://app.example", "http://localhost:3000"] {
                let headers = ["Origin: \(origin)", "Sec-Fetch-Site: cross-site"]
                func check(_ headers: [String: String]) {
                    #expect(headers["access-control-allow-origin"] == origin)
                    #expect(headers["vary"]?.contains("Origin") == true)
                    let exposed = headers["access-control-expose-headers"] ?? ""
                    #expect(["ETag", "-Revision", "-TTL"].allSatisfy { exposed.contains($0) })
                }
                let asked = [
                    "Access-Control-Request-Method: PUT",
                    "Access-Control-Request-Headers: content-type,if-match",
                ]
                let preflight = try site.ask(
                    "OPTIONS",
                    "/v1/properties/p",
                    headers: headers + asked
                )
                #expect(preflight.status == 204)
                check(preflight.headers)
                let methods = preflight.headers["access-control-allow-methods"] ?? ""
                #expect(["GET", "PUT", "PATCH", "DELETE"].allSatisfy { methods.contains($0) })
                let names = preflight.headers["access-control-allow-headers"] ?? ""
                #expect(names.contains("If-Match") && names.contains("Idempotency-Key"))
                #expect(preflight.headers["access-control-max-age"] == "600")
                let put = try site.ask("PUT", "/v1/properties/p", "1", headers: headers)
                #expect(put.status < 300)
                check(put.headers)
                for (target, status) in [
                    ("/v1/properties/p", 200), ("/v1/properties/q", 404), ("/metrics", 200),
                    ("/v1/export", 200), ("/v1/properties?limit=0", 400),
                ] {
                    let answer = try site.ask("GET", target, headers: headers)
                    #expect(answer.status == status, "\(target)")
                    check(answer.headers)
                }
                let watch = try site.stream("/v1/watch?initial=true", headers: headers)
                #expect(watch.status == 200)
                check(watch.headers)
                let repeated = headers + ["Idempotency-Key: \(origin)"]
                for _ in 0..<2 {
                    check(try site.ask("PUT", "/v1/properties/k", "1", headers: repeated).headers)
                }
            }
            for origin in [
                "https://app.example.evil", "http://app.example", "https://app.example:444",
                "https://APP.example", "null",
            ] {
                let page = ["Origin: \(origin)", "Sec-Fetch-Site: cross-site"]
                let answer = try site.ask("GET", "/v1/properties/p", headers: page)
                #expect(answer.status == 403, "\(origin)")
                #expect(answer.headers["access-control-allow-origin"] == nil)
                #expect(answer.headers["vary"] == "Origin")
            }
            // A cache must not give the one page the answer of the other.
            let plain = try site.ask("GET", "/v1/properties/p")
            #expect(plain.headers["vary"] == "Origin")
            #expect(plain.headers["access-control-allow-origin"] == nil)
        }
    }

    /// Otherwise the page sees a failure of the network, and does not learn that it must wait.
    @Test func `a page of an allowed origin can read why its request was refused`() async throws {
        let origin = "https://app.example"
        let bounds = [
            "--allow-origin", origin, "--max-header-bytes", "2000",
            "--max-body-bytes", "1000", "--max-connections-per-address", "2",
            "--request-timeout-seconds", "1",
        ]
        try await Deployment.inProcess.serve(bounds, limits: "max-target-bytes=300") { site in
            let field = "X-Long: " + String(repeating: "a", count: 1000)
            let target = "/v1/properties?prefix=" + String(repeating: "a", count: 300)
            let requests: [(Int, String, String, [String])] = [
                (414, "GET", target, []), (431, "GET", "/v1/properties", [field, field]),
                (413, "PUT", "/v1/properties/p", ["Content-Length: 2000", "Expect: 100-continue"]),
                (501, "PUT", "/v1/properties/p", ["Transfer-Encoding: gzip"]),
                // Answers that are written past the library: no body comes.
                (408, "PUT", "/v1/properties/p", ["Content-Length: 900"]),
                (408, "POST", "/v1/import", ["Content-Length: 900"]),
            ]
            func check(_ answer: HTTPAnswer, _ status: Int, _ sender: String) {
                #expect(answer.status == status)
                let allowed = answer.headers["access-control-allow-origin"]
                #expect(allowed == (sender == origin ? origin : nil), "\(status) \(sender)")
                #expect(answer.headers["vary"] == "Origin", "\(status) \(sender)")
            }
            for (number, sender) in [(UInt8(10), origin), (UInt8(20), "https://evil.example")] {
                let page = ["Origin: \(sender)", "Sec-Fetch-Site: cross-site"]
                for (index, (status, method, target, fields)) in requests.enumerated() {
                    // Senders that the head refuses already.
                    guard ![408, 413].contains(status) || sender == origin else { continue }
                    let own = number + 1 + UInt8(index)
                    let headers = page + fields
                    check(
                        try site.ask(method, target, headers: headers, from: own),
                        status,
                        sender
                    )
                }
                let others = try (0..<2).map { _ in
                    let client = try site.client(from: number)
                    #expect(try client.request("GET", "/v1/strategies").status == 200)
                    return client
                }
                let last = try site.ask("GET", "/v1/strategies", headers: page, from: number)
                check(last, 429, sender)
                withExtendedLifetime(others) {}
            }
        }
    }
}
