import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// Single properties over HTTP: the answers of each method, with and without conditions.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct PropertyTests {
    @Test(arguments: Deployment.allCases)
    func `a property is created, read, replaced, counted and deleted`(
        deployment: Deployment
    ) async throws {
        try await deployment.serve { site in
            // The bytes come back as they were sent.
            let value = " {\"x\": [1, 2]}\n"
            for (method, name, body, status, text, fields) in [
                ("PUT", "a", value, 201, "", ["etag": "\"1\""]),
                (
                    "GET", "a", nil, 200, value,
                    [
                        "content-type": "application/json", "etag": "\"1\"",
                        "latchkey-created": "1",
                    ]
                ),
                (
                    "HEAD", "a", nil, 200, "",
                    ["latchkey-created": "1", "content-length": "\(value.utf8.count)"]
                ),
                ("PUT", "a", "41", 204, "", ["etag": "\"2\""]),
                (
                    "POST", "a/increment", nil, 200, "42",
                    ["etag": "\"3\"", "latchkey-created": "1"]
                ),
                ("POST", "a/increment", "{\"by\":-50}", 200, "-8", [:]),
                ("DELETE", "a", nil, 204, "", [:]), ("GET", "a", nil, 404, nil, [:]),
                ("DELETE", "a", nil, 404, nil, [:]),
                ("POST", "new/increment", nil, 200, "1", ["etag": "\"6\""]),
            ] as [(String, String, String?, Int, String?, [String: String])] {
                let answer = try site.ask(method, "/v1/properties/\(name)", body)
                #expect(answer.status == status, "\(method) \(name)")
                #expect(answer.problem == (status == 404 ? "not-found" : nil))
                #expect(text == nil || answer.text == text, "\(method) \(name)")
                for (field, value) in fields {
                    #expect(answer.headers[field] == value, "\(field) of \(method) \(name)")
                }
            }
        }
    }

    @Test(arguments: Deployment.allCases)
    func `conditions decide by RFC 9110`(deployment: Deployment) async throws {
        try await deployment.serve { site in
            for (method, field, body, status) in [
                // Nothing is there: If-Match never holds, and what would be 404 stays 404.
                ("PUT", "If-Match: *", "1", 412),
                ("PUT", "If-Match: \"1\"", "1", 412),
                ("DELETE", "If-Match: \"1\"", nil, 404),
                ("GET", "If-Match: \"1\"", nil, 404),
                ("GET", "If-None-Match: *", nil, 404),
                ("PUT", "If-None-Match: *", "1", 201),
                ("PUT", "If-None-Match: *", "1", 412),
                ("PUT", "If-None-Match: \"1\"", "1", 412),
                ("PUT", "If-None-Match: W/\"1\"", "1", 412),
                ("PUT", "If-None-Match: \"7\", \"8\"", "1", 204),
                // Revision 2 from here on.
                ("GET", "If-None-Match: \"1\"", nil, 200),
                ("GET", "If-None-Match: \"1\" ,, \"2\"", nil, 304),
                ("GET", "If-None-Match: W/\"2\"", nil, 304),
                ("HEAD", "If-None-Match: *", nil, 304),
                ("GET", "If-Match: \"2\"", nil, 200),
                ("GET", "If-Match: W/\"2\"", nil, 412),
                ("GET", "If-Match: \"02\"", nil, 412),
                ("PUT", "If-Match: \"1\"", "1", 412),
                ("PUT", "If-Match: \"other\", \"2\"", "1", 204),
                ("DELETE", "If-Match: \"2\"", nil, 412),
                ("DELETE", "If-None-Match: \"3\"", nil, 412),
                ("DELETE", "If-Match: *", nil, 204),
            ] as [(String, String, String?, Int)] {
                let answer = try site.ask(method, "/v1/properties/c", body, headers: [field])
                #expect(answer.status == status, "\(method) \(field)")
            }
        }
    }

    @Test func `a 304 carries the tag, and several lines of a field are one list`() async throws {
        try await Deployment.inProcess.serve { site in
            _ = try site.ask("PUT", "/v1/properties/c", "1")
            let two = ["If-None-Match: \"9\"", "If-None-Match: \"1\""]
            let answer = try site.ask("GET", "/v1/properties/c", headers: two)
            #expect(answer.status == 304 && answer.body.isEmpty)
            #expect(answer.headers["etag"] == "\"1\"")
            // If-Match is looked at first.
            let fields = ["If-None-Match: \"1\"", "If-Match: \"9\""]
            let both = try site.ask("GET", "/v1/properties/c", headers: fields)
            #expect(both.problem == "precondition-failed")
        }
    }

    @Test func `names are percent-encoded bytes`() async throws {
        try await Deployment.inProcess.serve { site in
            let client = try site.client()
            let names = [
                "a%2Fb", "%61%2fb", "%C3%A9", "%20", "a+b", "%25", "..", "%2e%2E", "a;b=c",
            ]
            let decoded = ["a/b", "a/b", "é", " ", "a+b", "%", "..", "..", "a;b=c"]
            for (name, expected) in zip(names, decoded) {
                let put = try client.request("PUT", "/v1/properties/\(name)", body: [0x31])
                #expect(put.status == 201 || put.status == 204, "\(name)")
                let list = try client.request("GET", "/v1/properties?limit=1000")
                let page = try #require(list.json as? [String: Any])
                let rows = try #require(page["properties"] as? [[String: Any]])
                #expect(rows.contains { $0["name"] as? String == expected }, "\(name)")
            }
        }
    }
}
