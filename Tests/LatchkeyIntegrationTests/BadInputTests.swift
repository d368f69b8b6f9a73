import Foundation
import LatchkeyTestSupport
import Testing

/// Whatever is wrong with a request: a clear error, nothing changed, the service still up.
@Suite(.timeLimit(.minutes(3)), .serialized)
struct BadInputTests {
    /// Every case against a service that has one property, `p`, of value 1 and revision 1.
    private func refuses(
        _ place: Place,
        _ flags: [String] = [],
        _ problem: String,
        _ status: Int,
        _ cases: [(method: String, target: String, headers: [String], body: [UInt8]?)]
    ) async throws {
        try await place.serve(flags) { site in
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

    @Test(arguments: Place.allCases)
    func `a body that is no JSON is malformed`(place: Place) async throws {
        let bodies: [[UInt8]] = [
            Array("{".utf8), Array("nul".utf8), Array("1 2".utf8), [], Array("\"\u{1}\"".utf8),
            [0x22, 0xFF, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x00], Array("\u{FEFF}1".utf8),
        ]
        try await refuses(
            place,
            "malformed-json",
            400,
            bodies.map { ("PUT", "/v1/properties/p", [], $0) }
                + [("POST", "/v1/properties/p/increment", [], Array("{".utf8))]
        )
    }

    @Test(arguments: Place.allCases)
    func `a body that nests too deep is refused at the bound and above`(place: Place) async throws {
        let depths = [65, 10_000]
        try await refuses(
            place,
            "too-deep",
            400,
            depths.map { depth in
                let text =
                    String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
                return ("PUT", "/v1/properties/p", [], Array(text.utf8))
            }
        )
        try await place.serve { site in
            let text = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
            #expect(try site.ask("PUT", "/v1/properties/deep", text).status == 201)
        }
    }

    @Test(arguments: Place.allCases)
    func `an increment takes only an object with by`(place: Place) async throws {
        let bodies = [
            "1", "[]", "{}", "{\"by\":\"1\"}", "{\"by\":1.5}", "{\"by\":null}", "{\"by\":1,\"x\":2}",
            "{\"by\":9223372036854775808}", "{\"BY\":1}",
        ]
        try await refuses(
            place,
            "invalid-body",
            400,
            bodies.map { ("POST", "/v1/properties/p/increment", [], Array($0.utf8)) }
        )
    }

    @Test(arguments: Place.allCases)
    func `names have bounds`(place: Place) async throws {
        let long = String(repeating: "a", count: 257)
        try await refuses(
            place,
            "invalid-name",
            400,
            ["%00", "a%0Ab", "%7F", "%C2%85", long].flatMap { name in
                [
                    ("GET", "/v1/properties/\(name)", [], nil),
                    ("PUT", "/v1/properties/\(name)", [], [0x31]),
                    ("POST", "/v1/properties/\(name)/increment", [], nil),
                    ("DELETE", "/v1/properties/\(name)", [], nil),
                ]
            }
        )
        try await place.serve { site in
            let name = String(repeating: "a", count: 256)
            #expect(try site.ask("PUT", "/v1/properties/\(name)", "1").status == 201)
        }
    }

    @Test(arguments: Place.allCases)
    func `bad percent-encoding is refused`(place: Place) async throws {
        try await refuses(
            place,
            "invalid-target",
            400,
            ["%", "%2", "%zz", "a%", "%FF", "%C3", "%ED%A0%80", "%C0%AF"].map {
                ("PUT", "/v1/properties/\($0)", [], [0x31])
            }
        )
    }

    @Test(arguments: Place.allCases)
    func `queries are strict`(place: Place) async throws {
        let list = [
            "?limit=0", "?limit=1001", "?limit=x", "?limit=", "?limit=1&limit=1", "?nope=1",
            "?values=yes", "?after=%21", "?after=", "?prefix=%FF", "?prefix=%zz", "?&", "?=1",
            "?prefix=" + String(repeating: "a", count: 257),
        ].map { ("GET", "/v1/properties\($0)", [String](), [UInt8]?.none) }
        let others = [
            ("GET", "/v1/properties/p?x=1", [], nil), ("PUT", "/v1/properties/p?ttl=5", [], [0x32]),
            ("DELETE", "/v1/properties/p?x", [], nil),
            ("POST", "/v1/properties/p/increment?by=2", [], nil),
            ("GET", "/v1/strategies?x=1", [], nil), ("GET", "/metrics?x=1", [], nil),
            ("GET", "/readyz?verbose=2", [], nil),
        ] as [(String, String, [String], [UInt8]?)]
        try await refuses(place, "invalid-query", 400, list + others)
    }

    @Test(arguments: Place.allCases)
    func `conditions are lists of tags`(place: Place) async throws {
        let values = [
            "", "x", "1", "\"1", "1\"", "\"1\"x", "w/\"1\"", "W/1", "*,\"1\"", "\"1\" \"2\"", ",",
            "\"a b\"", "**",
        ]
        try await refuses(
            place,
            "invalid-condition",
            400,
            values.flatMap { value in
                [
                    ("PUT", "/v1/properties/p", ["If-Match: \(value)"], [0x32]),
                    ("GET", "/v1/properties/p", ["If-None-Match: \(value)"], nil),
                ]
            }
        )
    }

    @Test(arguments: Place.allCases)
    func `media types other than JSON are refused`(place: Place) async throws {
        let fields = [
            "Content-Type: text/plain", "Content-Type: application/x-www-form-urlencoded",
            "Content-Type: application/jsonx", "Content-Type: +json", "Content-Encoding: gzip",
        ]
        try await refuses(
            place,
            "unsupported-media-type",
            415,
            fields.map { ("PUT", "/v1/properties/p", [$0], [0x32]) }
                + fields.map { ("POST", "/v1/properties/p/increment", [$0], Array("{\"by\":1}".utf8)) }
        )
        try await place.serve { site in
            for type in ["application/json", "Application/JSON; charset=utf-8", "application/ld+json"] {
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

    @Test(arguments: Place.allCases)
    func `methods and paths that are not there are named`(place: Place) async throws {
        try await refuses(
            place,
            "method-not-allowed",
            405,
            [
                ("POST", "/v1/properties/p", [], nil), ("PATCH", "/v1/properties/p", [], nil),
                ("GET", "/v1/properties/p/increment", [], nil), ("BREW", "/healthz", [], nil),
                ("PUT", "/v1/properties", [], nil), ("DELETE", "/metrics", [], nil),
            ]
        )
        try await refuses(
            place,
            "no-route",
            404,
            [
                ("GET", "/v1", [], nil), ("GET", "/v1/properties/", [], nil),
                ("GET", "/v1/properties/a/b", [], nil), ("GET", "//healthz", [], nil),
                ("GET", "/healthz/", [], nil), ("GET", "/problems/nope", [], nil),
            ]
        )
        try await place.serve { site in
            let answer = try site.ask("POST", "/v1/properties/p")
            #expect(answer.headers["allow"] == "GET, HEAD, PUT, DELETE, OPTIONS")
            let options = try site.ask("OPTIONS", "/v1/properties/p")
            #expect(options.status == 204)
            #expect(options.headers["allow"] == "GET, HEAD, PUT, DELETE, OPTIONS")
        }
    }

    @Test(arguments: Place.allCases)
    func `numbers that cannot be counted stay`(place: Place) async throws {
        try await place.serve { site in
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
