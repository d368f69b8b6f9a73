import Foundation
import LatchkeyTestSupport
import Testing

/// Bad requests: each gets a clear error and changes nothing, and the service stays up.
@Suite(.timeLimit(.minutes(3)), .serialized)
struct BadInputTests {
    /// Sends every case to a service with one property, `p`, of value 1 and revision 1.
    private func refuses(
        _ deployment: Deployment,
        _ problem: String,
        _ status: Int,
        _ cases: [BadRequest]
    ) async throws {
        try await deployment.serve { site in
            let client = try site.client()
            _ = try client.request("PUT", "/v1/properties/p", body: [0x31])
            for item in cases {
                let answer = try client.request(
                    item.method,
                    item.target,
                    headers: item.headers,
                    body: item.body
                )
                #expect(answer.problem == problem, "\(item): \(answer.status) \(answer.text)")
                #expect(answer.status == status)
                #expect(try client.request("GET", "/problems/\(problem)").status == 200)
            }
            let property = try client.request("GET", "/v1/properties/p")
            #expect(property.text == "1")
            #expect(property.headers["etag"] == "\"1\"", "nothing was changed")
            try site.isWell()
        }
    }

    @Test(arguments: Deployment.allCases)
    func `a body that is no JSON is malformed`(deployment: Deployment) async throws {
        let bodies: [[UInt8]] = [
            Array("{".utf8), Array("nul".utf8), Array("1 2".utf8), [], Array("\"\u{1}\"".utf8),
            [0x22, 0xFF, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x00], Array("\u{FEFF}1".utf8),
        ]
        try await refuses(
            deployment,
            "malformed-json",
            400,
            bodies.map { BadRequest("PUT", "/v1/properties/p", body: $0) }
                + [BadRequest("POST", "/v1/properties/p/increment", body: Array("{".utf8))]
        )
    }

    @Test(arguments: Deployment.allCases)
    func `a body that nests too deep is refused at the bound and above`(
        deployment: Deployment
    ) async throws {
        let depths = [65, 10_000]
        try await refuses(
            deployment,
            "too-deep",
            400,
            depths.map { depth in
                let text =
                    String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
                return BadRequest("PUT", "/v1/properties/p", body: Array(text.utf8))
            }
        )
        try await deployment.serve { site in
            let text = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
            let answer = try site.ask("PUT", "/v1/properties/deep", text)
            #expect(answer.status == 201)
        }
    }

    @Test(arguments: Deployment.allCases)
    func `an increment takes only an object with by`(deployment: Deployment) async throws {
        let bodies = [
            "1", "[]", "{}", "{\"by\":\"1\"}", "{\"by\":1.5}", "{\"by\":null}",
            "{\"by\":1,\"x\":2}", "{\"by\":1,\"by\":1}", "{\"by\":1,\"\\u0062y\":2}",
            "{\"by\":9223372036854775808}", "{\"BY\":1}",
        ]
        try await refuses(
            deployment,
            "invalid-body",
            400,
            bodies.map { BadRequest("POST", "/v1/properties/p/increment", body: Array($0.utf8)) }
        )
    }

    @Test(arguments: Deployment.allCases)
    func `names have bounds`(deployment: Deployment) async throws {
        let long = String(repeating: "a", count: 257)
        try await refuses(
            deployment,
            "invalid-name",
            400,
            ["%00", "a%0Ab", "%7F", "%C2%85", long].flatMap { name in
                [
                    BadRequest("GET", "/v1/properties/\(name)"),
                    BadRequest("PUT", "/v1/properties/\(name)", body: [0x31]),
                    BadRequest("POST", "/v1/properties/\(name)/increment"),
                    BadRequest("DELETE", "/v1/properties/\(name)"),
                ]
            }
        )
        try await deployment.serve { site in
            let name = String(repeating: "a", count: 256)
            let answer = try site.ask("PUT", "/v1/properties/\(name)", "1")
            #expect(answer.status == 201)
        }
    }

    @Test(arguments: Deployment.allCases)
    func `bad percent-encoding is refused`(deployment: Deployment) async throws {
        try await refuses(
            deployment,
            "invalid-target",
            400,
            ["%", "%2", "%zz", "a%", "%FF", "%C3", "%ED%A0%80", "%C0%AF"].map {
                BadRequest("PUT", "/v1/properties/\($0)", body: [0x31])
            }
        )
    }

    @Test(arguments: Deployment.allCases)
    func `queries are strict`(deployment: Deployment) async throws {
        let list = [
            "?limit=0", "?limit=1001", "?limit=x", "?limit=", "?limit=1&limit=1", "?nope=1",
            "?values=yes", "?after=%21", "?after=", "?prefix=%FF", "?prefix=%zz", "?&", "?=1",
            "?prefix=" + String(repeating: "a", count: 257),
        ].map { BadRequest("GET", "/v1/properties\($0)") }
        let others = [
            BadRequest("GET", "/v1/properties/p?x=1"),
            BadRequest("PUT", "/v1/properties/p?ttl=0", body: [0x32]),
            BadRequest("DELETE", "/v1/properties/p?x"),
            BadRequest("POST", "/v1/properties/p/increment?by=2"),
            BadRequest("GET", "/v1/strategies?x=1"), BadRequest("GET", "/metrics?x=1"),
            BadRequest("GET", "/readyz?verbose=2"),
        ]
        try await refuses(deployment, "invalid-query", 400, list + others)
    }

    @Test(arguments: Deployment.allCases)
    func `conditions are lists of tags`(deployment: Deployment) async throws {
        let values = [
            "", "x", "1", "\"1", "1\"", "\"1\"x", "w/\"1\"", "W/1", "*,\"1\"", "\"1\" \"2\"", ",",
            "\"a b\"", "**",
        ]
        try await refuses(
            deployment,
            "invalid-condition",
            400,
            values.flatMap { value in
                [
                    BadRequest(
                        "PUT",
                        "/v1/properties/p",
                        headers: ["If-Match: \(value)"],
                        body: [0x32]
                    ),
                    BadRequest("GET", "/v1/properties/p", headers: ["If-None-Match: \(value)"]),
                ]
            }
        )
    }

    @Test(arguments: Deployment.allCases)
    func `media types other than JSON are refused`(deployment: Deployment) async throws {
        let fields = [
            "Content-Type: text/plain", "Content-Type: multipart/form-data; boundary=x",
            "Content-Type: application/jsonx", "Content-Type: +json", "Content-Encoding: gzip",
        ]
        try await refuses(
            deployment,
            "unsupported-media-type",
            415,
            fields.map { BadRequest("PUT", "/v1/properties/p", headers: [$0], body: [0x32]) }
                + fields.map {
                    BadRequest(
                        "POST",
                        "/v1/properties/p/increment",
                        headers: [$0],
                        body: Array("{\"by\":1}".utf8)
                    )
                }
        )
        try await deployment.serve { site in
            for type in [
                "application/json", "Application/JSON; charset=utf-8", "application/ld+json",
            ] {
                let answer = try site.ask(
                    "PUT",
                    "/v1/properties/p",
                    "1",
                    headers: ["Content-Type: \(type)"]
                )
                #expect(answer.status == 201 || answer.status == 204)
            }
        }
    }

    @Test(arguments: Deployment.allCases)
    func `methods and paths that are not there are named`(deployment: Deployment) async throws {
        try await refuses(
            deployment,
            "method-not-allowed",
            405,
            [
                BadRequest("POST", "/v1/properties/p"),
                BadRequest("GET", "/v1/properties/p/increment"), BadRequest("BREW", "/healthz"),
                BadRequest("PUT", "/v1/properties"), BadRequest("DELETE", "/metrics"),
            ]
        )
        try await refuses(
            deployment,
            "no-route",
            404,
            [
                BadRequest("GET", "/v1"), BadRequest("GET", "/v1/properties/"),
                BadRequest("GET", "/v1/properties/a/b"), BadRequest("GET", "//healthz"),
                BadRequest("GET", "/healthz/"), BadRequest("GET", "/problems/nope"),
            ]
        )
        try await deployment.serve { site in
            let answer = try site.ask("POST", "/v1/properties/p")
            #expect(answer.headers["allow"] == "GET, HEAD, PUT, PATCH, DELETE, OPTIONS")
            let options = try site.ask("OPTIONS", "/v1/properties/p")
            #expect(options.status == 204)
            #expect(options.headers["allow"] == "GET, HEAD, PUT, PATCH, DELETE, OPTIONS")
        }
    }

    @Test(arguments: Deployment.allCases)
    func `OPTIONS of everything has the methods of all paths`(deployment: Deployment) async throws {
        try await deployment.serve { site in
            let answer = try site.ask("OPTIONS", "*")
            #expect(answer.status == 204, "\(answer.text)")
            #expect(answer.headers["allow"] == "GET, HEAD, PUT, POST, PATCH, DELETE, OPTIONS")
            #expect(try site.ask("GET", "*").problem == "invalid-target")
        }
    }

    @Test(arguments: Deployment.allCases)
    func `a part of a value is not put in its place`(deployment: Deployment) async throws {
        try await refuses(
            deployment,
            "partial-put",
            400,
            ["bytes 0-0/2", "bytes 5-5/*", "x"].map { range in
                BadRequest(
                    "PUT",
                    "/v1/properties/p",
                    headers: ["Content-Range: \(range)"],
                    body: [0x32]
                )
            }
        )
    }

    @Test(arguments: Deployment.allCases)
    func `numbers that cannot be counted stay`(deployment: Deployment) async throws {
        try await deployment.serve { site in
            let client = try site.client()
            func put(_ value: String) throws {
                _ = try client.request("PUT", "/v1/properties/n", body: Array(value.utf8))
            }
            for value in ["\"1\"", "1.0", "1e3", "null", "[1]", "9223372036854775808"] {
                try put(value)
                let answer = try client.request("POST", "/v1/properties/n/increment")
                #expect(answer.problem == "not-an-integer")
                #expect(try client.request("GET", "/v1/properties/n").text == value)
            }
            try put("9223372036854775807")
            let answer = try client.request("POST", "/v1/properties/n/increment")
            #expect(answer.problem == "overflow")
            #expect(answer.status == 409)
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
