import LatchkeyTestSupport
import Testing

/// Requests that a page of another site has a browser send.
@Suite(.timeLimit(.minutes(3)), .serialized)
struct CrossSiteTests {
    /// Each would change `p`, or something else.
    private static let writes = [
        ("POST", "/v1/transactions", #"{"then":[{"put":"p","value":2}]}"#),
        ("POST", "/v1/operations", #"{"steps":[{"put":"p","value":2}]}"#),
        ("POST", "/v1/import?partial=true", #"{"name":"p","value":2}"#),
        ("POST", "/v1/properties/p/increment", ""),
        ("POST", "/v1/contention/reset", ""),
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
        let client = try site.client()
        let head = ["\(method) \(path) HTTP/1.1", "Host: localhost:\(site.port)"] + fields
        let lines = head + ["Content-Length: \(body.utf8.count)", "", body]
        try client.send(lines.joined(separator: "\r\n"))
        return try client.answer()
    }

    @Test(arguments: Deployment.allCases, [[], ["--thread-per-connection"]])
    func `a page of another site changes nothing`(
        deployment: Deployment,
        flags: [String]
    ) async throws {
        try await deployment.serve(flags) { site in
            _ = try site.ask("PUT", "/v1/properties/p", "1")
            let others = [
                "http://evil.example", "https://evil.example:\(site.port)", "null", "",
                "http://localhost", "http://localhost:1\(site.port)", "localhost:\(site.port)",
                "http://127.0.0.1:\(site.port)", "http://evil.localhost:\(site.port)",
                "ftp://localhost:\(site.port)", "http://evil.example/localhost:\(site.port)",
            ]
            for (method, path, body) in Self.writes {
                for origin in others {
                    let answer = try Self.ask(site, method, path, body, "Origin: \(origin)")
                    #expect(answer.status == 403, "\(method) \(path) \(origin)")
                    #expect(answer.problem == "cross-site-request")
                }
                for fetch in ["cross-site", "same-site", "none", "same-origin, none"] {
                    let answer = try Self.ask(
                        site,
                        method,
                        path,
                        body,
                        "Origin: http://evil.example",
                        "Sec-Fetch-Site: \(fetch)"
                    )
                    #expect(answer.status == 403, "\(method) \(path) \(fetch)")
                }
            }
            #expect(try site.ask("GET", "/v1/properties/p").text == "1")
            #expect(try site.ask("GET", "/v1/operations").text.contains(#""operations":[]"#))
        }
    }

    @Test(arguments: Deployment.allCases)
    func `a page of the service, and who is no browser, can write`(
        deployment: Deployment
    ) async throws {
        try await deployment.serve { site in
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

    @Test(arguments: Deployment.allCases)
    func `a page of another site is served what it cannot read`(
        deployment: Deployment
    ) async throws {
        try await deployment.serve { site in
            _ = try site.ask("PUT", "/v1/properties/p", "1")
            for (method, status) in [("GET", 200), ("OPTIONS", 204)] {
                let answer = try Self.ask(
                    site,
                    method,
                    "/v1/properties/p",
                    "",
                    "Origin: http://evil.example"
                )
                #expect(answer.status == status)
                #expect(answer.headers["access-control-allow-origin"] == nil)
            }
        }
    }
}
