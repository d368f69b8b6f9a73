import LatchkeyTestSupport
import Testing

/// Bad requests: each gets a clear error and changes nothing, and the service stays up.
@Suite(.timeLimit(.minutes(15)))
struct BadInputTests {
    private static let property = "/v1/properties/p"
    private static let form = "Content-Type: application/x-www-form-urlencoded"
    private static let long = String(repeating: "a", count: 257)

    private static let badNames = ["%00", "%7F", "%C2%85", long].map { "/v1/properties/\($0)" }

    private static let badTypes = [
        ["Content-Type: text/plain"], ["Content-Type: application/jsonx"],
        ["Content-Encoding: gzip"],
    ]

    private static let badTags = ["", "x", "\"1", "\"1\"x", "*,\"1\"", ","]

    private static let badQueries = [
        "?limit=0", "?limit=1001", "?limit=x", "?limit=1&limit=1", "?nope=1", "?values=yes",
        "?after=%21", "?prefix=%FF", "?&", "?prefix=" + long, "/p?x=1",
    ]

    private static func nested(_ depth: Int) -> String {
        String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }

    /// Requests of one method that a server must refuse: targets, bodies and fields in all pairs.
    private static func requests(
        _ method: String,
        _ targets: [String] = [property],
        fields: [[String]] = [[]],
        bodies: [String?] = [nil]
    ) -> [BadRequest] {
        targets.flatMap { target in
            fields.flatMap { fields in
                bodies.map { BadRequest(method: method, target: target, fields: fields, body: $0) }
            }
        }
    }

    private static let refusals: [(problem: String, status: Int, requests: [BadRequest])] = [
        (
            "malformed-json", 400,
            requests("PUT", bodies: ["{", "nul", "1 2", "", "\0"])
                + requests("POST", [property + "/increment"], bodies: ["{"])
        ),
        (
            "invalid-body", 400,
            requests(
                "POST",
                [property + "/increment"],
                bodies: [
                    "1", "{}", #"{"by":1.5}"#, #"{"by":1,"x":2}"#, #"{"by":1,"by":1}"#,
                    #"{"by":9223372036854775808}"#,
                ]
            )
        ),
        (
            "invalid-name", 400,
            requests("GET", badNames) + requests("PUT", badNames, bodies: ["1"])
                + requests("DELETE", badNames)
                + requests("POST", badNames.map { $0 + "/increment" })
        ),
        (
            "invalid-target", 400,
            requests("PUT", ["%", "%zz", "%FF"].map { "/v1/properties/\($0)" }, bodies: ["1"])
                + requests("GET", ["*"])
        ),
        (
            "invalid-query", 400,
            requests("GET", badQueries.map { "/v1/properties\($0)" })
                + requests("GET", ["/v1/strategies?x=1", "/readyz?verbose=2"])
                + requests("PUT", [property + "?ttl=0"], bodies: ["2"])
                + requests("DELETE", [property + "?x"])
                + requests("POST", [property + "/increment?by=2"])
        ),
        (
            "invalid-condition", 400,
            requests("PUT", fields: badTags.map { ["If-Match: \($0)"] }, bodies: ["2"])
                + requests("GET", fields: badTags.map { ["If-None-Match: \($0)"] })
        ),
        (
            "unsupported-media-type", 415,
            requests("PUT", fields: badTypes + [[form, form]], bodies: ["2"])
                + requests("PATCH", fields: badTypes, bodies: ["{}"])
        ),
        (
            "method-not-allowed", 405,
            requests("POST") + requests("GET", [property + "/increment"])
                + requests("BREW", ["/healthz"]) + requests("DELETE", ["/metrics"])
        ),
        (
            "no-route", 404,
            requests(
                "GET",
                ["/v1", "/v1/properties/", "/v1/properties/a/b", "//healthz", "/problems/nope"]
            )
        ),
        ("too-deep", 400, requests("PUT", bodies: [65, 10_000].map(nested))),
        ("not-an-integer", 409, requests("POST", ["/v1/properties/text/increment"])),
        ("overflow", 409, requests("POST", ["/v1/properties/most/increment"])),
        (
            "partial-put", 400,
            requests("PUT", fields: [["Content-Range: bytes 0-0/2"]], bodies: ["2"])
        ),
    ]

    @Test func `each has its problem, and nothing is changed`() async throws {
        try await Deployment.inProcess.serve { site in
            for (target, body) in [
                (Self.property, "1"), ("/v1/properties/text", Self.nested(64)),
                ("/v1/properties/most", "9223372036854775807"),
                ("/v1/properties/" + Self.long.dropLast(), "1"),
            ] {
                #expect(try site.ask("PUT", target, body).status == 201, "\(target)")
            }
            for (problem, status, requests) in Self.refusals {
                for bad in requests {
                    let answer = try site.ask(
                        bad.method,
                        bad.target,
                        bad.body,
                        headers: bad.fields
                    )
                    let isRefused = answer.problem == problem && answer.status == status
                    #expect(isRefused, "\(bad): \(answer.status) \(answer.text)")
                }
                #expect(try site.ask("GET", "/problems/\(problem)").status == 200)
            }
            let value = try site.ask("GET", Self.property)
            #expect(value.text == "1" && value.headers["etag"] == "\"1\"", "nothing was changed")
            let allowed = "GET, HEAD, PUT, PATCH, DELETE, OPTIONS"
            #expect(try site.ask("POST", Self.property).headers["allow"] == allowed)
            let all = "GET, HEAD, PUT, POST, PATCH, DELETE, OPTIONS"
            #expect(try site.ask("OPTIONS", "*").headers["allow"] == all)
            let patches = "application/merge-patch+json, application/json"
            for (method, target, wanted) in [
                ("OPTIONS", Self.property, patches), ("PATCH", Self.property, patches),
                ("PUT", Self.property, nil), ("OPTIONS", "*", nil), ("OPTIONS", "/healthz", nil),
            ] {
                let type = ["Content-Type: text/plain"]
                let answer = try site.ask(method, target, "1", headers: type)
                #expect(answer.headers["accept-patch"] == wanted, "\(method) \(target)")
            }
            let slash = try site.ask("GET", "/v1/properties/orders/a")
            #expect(slash.text.contains("A / in a name is written %2F: /v1/properties/orders%2Fa"))
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

}

private struct BadRequest: Sendable {
    let method: String
    let target: String
    let fields: [String]
    let body: String?
}
