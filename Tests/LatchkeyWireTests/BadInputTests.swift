import LatchkeyTestSupport
import Testing

/// Bad requests: each gets a clear error and changes nothing, and the service stays up.
@Suite(.timeLimit(.minutes(3)))
struct BadInputTests {
    private static let property = "/v1/properties/p"
    private static let form = "Content-Type: application/x-www-form-urlencoded"
    private static let long = String(repeating: "a", count: 257)

    private static func puts(_ bodies: [[UInt8]]) -> [BadRequest] {
        bodies.map { BadRequest("PUT", property, body: $0) }
    }

    private static let refusals: [(problem: String, status: Int, requests: [BadRequest])] = [
        (
            "malformed-json", 400,
            puts([
                Array("{".utf8), Array("nul".utf8), Array("1 2".utf8), [], [0x22, 0xFF, 0x22], [0],
            ]) + [BadRequest("POST", property + "/increment", body: Array("{".utf8))]
        ),
        (
            "invalid-body", 400,
            [
                "1", "{}", "{\"by\":1.5}", "{\"by\":1,\"x\":2}", "{\"by\":1,\"by\":1}",
                "{\"by\":9223372036854775808}",
            ].map { BadRequest("POST", property + "/increment", body: Array($0.utf8)) }
        ),
        (
            "invalid-name", 400,
            ["%00", "%7F", "%C2%85", long].flatMap { name in
                [
                    BadRequest("GET", "/v1/properties/\(name)"),
                    BadRequest("PUT", "/v1/properties/\(name)", body: [0x31]),
                    BadRequest("POST", "/v1/properties/\(name)/increment"),
                    BadRequest("DELETE", "/v1/properties/\(name)"),
                ]
            }
        ),
        (
            "invalid-target", 400,
            ["%", "%zz", "%FF"].map { BadRequest("PUT", "/v1/properties/\($0)", body: [0x31]) }
                + [BadRequest("GET", "*")]
        ),
        (
            "invalid-query", 400,
            [
                "?limit=0", "?limit=1001", "?limit=x", "?limit=1&limit=1", "?nope=1", "?values=yes",
                "?after=%21", "?prefix=%FF", "?&", "?prefix=" + long, "/p?x=1",
            ].map { BadRequest("GET", "/v1/properties\($0)") } + [
                BadRequest("PUT", property + "?ttl=0", body: [0x32]),
                BadRequest("DELETE", property + "?x"),
                BadRequest("POST", property + "/increment?by=2"),
                BadRequest("GET", "/v1/strategies?x=1"), BadRequest("GET", "/readyz?verbose=2"),
            ]
        ),
        (
            "invalid-condition", 400,
            ["", "x", "\"1", "\"1\"x", "*,\"1\"", ","].flatMap { value in
                [
                    BadRequest("PUT", property, headers: ["If-Match: \(value)"], body: [0x32]),
                    BadRequest("GET", property, headers: ["If-None-Match: \(value)"]),
                ]
            }
        ),
        (
            "unsupported-media-type", 415,
            [
                "Content-Type: text/plain", "Content-Type: application/jsonx",
                "Content-Encoding: gzip",
            ].flatMap { field in
                [
                    BadRequest("PUT", property, headers: [field], body: [0x32]),
                    BadRequest("PATCH", property, headers: [field], body: Array("{}".utf8)),
                ]
            } + [BadRequest("PUT", property, headers: [form, form], body: [0x32])]
        ),
        (
            "method-not-allowed", 405,
            [
                BadRequest("POST", property), BadRequest("GET", property + "/increment"),
                BadRequest("BREW", "/healthz"), BadRequest("DELETE", "/metrics"),
            ]
        ),
        (
            "no-route", 404,
            ["/v1", "/v1/properties/", "/v1/properties/a/b", "//healthz", "/problems/nope"]
                .map { BadRequest("GET", $0) }
        ),
        (
            "partial-put", 400,
            [BadRequest("PUT", property, headers: ["Content-Range: bytes 0-0/2"], body: [0x32])]
        ),
    ]

    @Test func `each has its problem, and nothing is changed`() async throws {
        try await Deployment.inProcess.serve { site in
            let client = try site.client()
            _ = try client.request("PUT", Self.property, body: [0x31])
            for (problem, status, requests) in Self.refusals {
                for item in requests {
                    let answer = try client.request(
                        item.method,
                        item.target,
                        headers: item.headers,
                        body: item.body
                    )
                    let isRefused = answer.problem == problem && answer.status == status
                    #expect(isRefused, "\(item): \(answer.status) \(answer.text)")
                }
                #expect(try client.request("GET", "/problems/\(problem)").status == 200)
            }
            let value = try client.request("GET", Self.property)
            #expect(value.text == "1" && value.headers["etag"] == "\"1\"", "nothing was changed")
            let post = try client.request("POST", Self.property)
            #expect(post.headers["allow"] == "GET, HEAD, PUT, PATCH, DELETE, OPTIONS")
            let slash = try client.request("GET", "/v1/properties/orders/a")
            #expect(slash.text.contains("A / in a name is written %2F: /v1/properties/orders%2Fa"))
            let all = try client.request("OPTIONS", "*")
            #expect(all.headers["allow"] == "GET, HEAD, PUT, POST, PATCH, DELETE, OPTIONS")
        }
    }

    @Test func `a body that nests too deep is refused at the bound and above`() async throws {
        try await Deployment.inProcess.serve { site in
            for (depth, status) in [(64, 201), (65, 400), (10_000, 400)] {
                let text =
                    String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
                let answer = try site.ask("PUT", "/v1/properties/\(depth)", text)
                #expect(answer.status == status)
                #expect(answer.problem == (status == 400 ? "too-deep" : nil))
            }
            let name = String(Self.long.dropLast())
            #expect(try site.ask("PUT", "/v1/properties/\(name)", "1").status == 201)
        }
    }

    private static let writes = [
        ("PUT", property, "2", 204),
        ("PATCH", property, #"{"a":1}"#, 200),
        ("POST", "/v1/properties/n/increment", #"{"by":2}"#, 200),
        ("POST", "/v1/transactions", #"{"then":[{"put":"p","value":2}]}"#, 200),
        ("POST", "/v1/operations", #"{"steps":[{"put":"p","value":2}]}"#, 202),
        ("POST", "/v1/import?partial=true", #"{"name":"p","value":2}"#, 200),
    ]

    @Test func `the type that curl gives to a body is taken as JSON, but not from a browser`()
        async throws
    {
        try await Deployment.inProcess.serve { site in
            _ = try site.ask("PUT", Self.property, "1")
            for (method, target, body, _) in Self.writes {
                for (field, problem) in [
                    ("Origin: http://localhost", "unsupported-media-type"),
                    ("Sec-Fetch-Site: none", "unsupported-media-type"),
                    ("Sec-Fetch-Site: same-origin", "unsupported-media-type"),
                    ("Origin: http://evil.example", "cross-site-request"),
                    ("Sec-Fetch-Site: cross-site", "cross-site-request"),
                ] {
                    let refused = try site.ask(method, target, body, headers: [Self.form, field])
                    #expect(refused.problem == problem, "\(target) \(field)")
                }
                guard !target.contains("import") else { continue }
                let form = try site.ask(method, target, "a=1", headers: [Self.form])
                #expect(form.problem == "unsupported-media-type", "\(target)")
                #expect(form.text.contains("--json in place of -d"))
            }
            #expect(try site.ask("GET", Self.property).headers["etag"] == "\"1\"")
            for (method, target, body, status) in Self.writes {
                let taken = try site.ask(method, target, body, headers: [Self.form])
                #expect(taken.status == status, "\(method) \(target): \(taken.text)")
            }
            for type in ["Application/JSON; charset=utf-8", "application/ld+json"] {
                let fields = ["Content-Type: \(type)"]
                #expect(try site.ask("PUT", Self.property, "1", headers: fields).status == 204)
            }
        }
    }

    @Test func `numbers that cannot be counted stay`() async throws {
        try await Deployment.inProcess.serve { site in
            let name = "/v1/properties/n"
            for value in ["\"1\"", "1.0", "1e3", "null", "[1]", "9223372036854775808"] {
                _ = try site.ask("PUT", name, value)
                #expect(try site.ask("POST", name + "/increment").problem == "not-an-integer")
                #expect(try site.ask("GET", name).text == value)
            }
            _ = try site.ask("PUT", name, "9223372036854775807")
            #expect(try site.ask("POST", name + "/increment").problem == "overflow")
        }
    }
}

/// A request that a server must refuse.
private struct BadRequest: Sendable {
    let method: String
    let target: String
    let headers: [String]
    let body: [UInt8]?

    init(_ method: String, _ target: String, headers: [String] = [], body: [UInt8]? = nil) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
    }
}
