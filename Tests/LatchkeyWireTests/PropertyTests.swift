import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// Single properties over HTTP: the answers of each method, with and without conditions.
@Suite(.timeLimit(.minutes(3)), .serialized)
struct PropertyTests {
    @Test(arguments: Deployment.allCases)
    func `a property is created, read, replaced, counted and deleted`(
        deployment: Deployment
    ) async throws {
        try await deployment.serve { site in
            let client = try site.client()
            let name = "/v1/properties/a"
            let value = Array(" {\"x\": [1, 2]}\n".utf8)
            var answer = try client.request("PUT", name, body: value)
            #expect(answer.status == 201)
            #expect(answer.headers["etag"] == "\"1\"")
            answer = try client.request("GET", name)
            #expect(answer.status == 200)
            #expect(answer.body == value, "the bytes come back as they were sent")
            #expect(answer.headers["content-type"] == "application/json")
            #expect(answer.headers["etag"] == "\"1\"")
            #expect(answer.headers["latchkey-created"] == "1")
            answer = try client.request("HEAD", name)
            #expect(answer.status == 200)
            #expect(answer.headers["latchkey-created"] == "1")
            #expect(answer.headers["content-length"] == "\(value.count)")
            answer = try client.request("PUT", name, body: Array("41".utf8))
            #expect(answer.status == 204)
            #expect(answer.headers["etag"] == "\"2\"")
            answer = try client.request("POST", "\(name)/increment")
            #expect(answer.status == 200)
            #expect(answer.text == "42")
            #expect(answer.headers["etag"] == "\"3\"")
            #expect(answer.headers["latchkey-created"] == "1")
            answer = try client.request(
                "POST",
                "\(name)/increment",
                body: Array("{\"by\":-50}".utf8)
            )
            #expect(answer.text == "-8")
            answer = try client.request("DELETE", name)
            #expect(answer.status == 204)
            #expect(try client.request("GET", name).problem == "not-found")
            #expect(try client.request("DELETE", name).problem == "not-found")
            answer = try client.request("POST", "/v1/properties/new/increment")
            #expect(answer.text == "1")
            #expect(answer.headers["etag"] == "\"6\"")
        }
    }

    @Test func `caches ask before they use what was read`() async throws {
        try await Deployment.inProcess.serve { site in
            let client = try site.client()
            func caching(
                _ method: String,
                _ target: String,
                _ fields: [String] = []
            ) throws -> String? {
                try client.request(method, target, headers: fields).headers["cache-control"]
            }
            let name = "/v1/properties/a"
            let put = try client.request("PUT", name, body: [0x31])
            #expect(put.headers["cache-control"] == nil)
            for method in ["GET", "HEAD"] {
                #expect(try caching(method, name) == "no-cache")
                #expect(try caching(method, name, ["If-None-Match: \"1\""]) == "no-cache", "304")
                #expect(try caching(method, "/v1/properties/none") == "no-cache", "404")
                #expect(try caching(method, "/v1/properties") == "no-cache")
                #expect(try caching(method, "/v1/contention") == "no-cache")
            }
            #expect(try caching("POST", "\(name)/increment") == nil)
        }
    }

    @Test(arguments: Deployment.allCases)
    func `conditions decide by RFC 9110`(deployment: Deployment) async throws {
        try await deployment.serve { site in
            let client = try site.client()
            func status(_ method: String, _ field: String, _ body: String? = nil) throws -> Int {
                try client.request(
                    method,
                    "/v1/properties/c",
                    headers: [field],
                    body: body.map { Array($0.utf8) }
                ).status
            }
            // Nothing is there: If-Match never holds, and what would be 404 stays 404.
            #expect(try status("PUT", "If-Match: *", "1") == 412)
            #expect(try status("PUT", "If-Match: \"1\"", "1") == 412)
            #expect(try status("DELETE", "If-Match: \"1\"") == 404)
            #expect(try status("GET", "If-Match: \"1\"") == 404)
            #expect(try status("GET", "If-None-Match: *") == 404)
            #expect(try status("PUT", "If-None-Match: *", "1") == 201)
            #expect(try status("PUT", "If-None-Match: *", "1") == 412)
            #expect(try status("PUT", "If-None-Match: \"1\"", "1") == 412)
            #expect(try status("PUT", "If-None-Match: W/\"1\"", "1") == 412)
            #expect(try status("PUT", "If-None-Match: \"7\", \"8\"", "1") == 204)
            // Revision 2 from here on.
            #expect(try status("GET", "If-None-Match: \"1\"") == 200)
            #expect(try status("GET", "If-None-Match: \"1\" ,, \"2\"") == 304)
            #expect(try status("GET", "If-None-Match: W/\"2\"") == 304)
            #expect(try status("HEAD", "If-None-Match: *") == 304)
            #expect(try status("GET", "If-Match: \"2\"") == 200)
            #expect(try status("GET", "If-Match: W/\"2\"") == 412)
            #expect(try status("GET", "If-Match: \"02\"") == 412)
            #expect(try status("PUT", "If-Match: \"1\"", "1") == 412)
            #expect(try status("PUT", "If-Match: \"other\", \"2\"", "1") == 204)
            #expect(try status("DELETE", "If-Match: \"2\"") == 412)
            #expect(try status("DELETE", "If-None-Match: \"3\"") == 412)
            #expect(try status("DELETE", "If-Match: *") == 204)
        }
    }

    @Test func `a 304 carries the tag, and several lines of a field are one list`() async throws {
        try await Deployment.inProcess.serve { site in
            let client = try site.client()
            _ = try client.request("PUT", "/v1/properties/c", body: [0x31])
            let answer = try client.request(
                "GET",
                "/v1/properties/c",
                headers: ["If-None-Match: \"9\"", "If-None-Match: \"1\""]
            )
            #expect(answer.status == 304)
            #expect(answer.headers["etag"] == "\"1\"")
            #expect(answer.body.isEmpty)
            // If-Match is looked at first.
            let both = try client.request(
                "GET",
                "/v1/properties/c",
                headers: ["If-None-Match: \"1\"", "If-Match: \"9\""]
            )
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
