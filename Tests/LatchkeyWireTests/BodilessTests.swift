import LatchkeyTestSupport
import Testing

/// Answers without a body: a length that they carry is the one of the body that they stand for.
///
/// RFC 9110, section 8.6: another one says that the body is another one, and caches believe it.
@Suite(.timeLimit(.minutes(15)))
struct BodilessTests {
    private static func length(_ answer: HTTPAnswer) -> String? {
        #expect(answer.headers["transfer-encoding"] == nil)
        return answer.headers["content-length"]
    }

    /// Below and above the length from which a value is not copied.
    @Test(arguments: [1, 256, 257, 100_000])
    func `a 304 has the length of the value, and so has an answer to HEAD`(count: Int) async throws
    {
        try await Deployment.inProcess.serve { site in
            let client = try site.client()
            let body = Array(String(repeating: "1", count: count).utf8)
            let name = "/v1/properties/a"
            #expect(try client.request("PUT", name, body: body).status == 201)
            let same = ["If-None-Match: \"1\""]
            for (method, target, fields, status) in [
                ("GET", name, [], 200), ("HEAD", name, [], 200), ("GET", name, same, 304),
                ("HEAD", name, same, 304), ("GET", name + "?after=1&wait=0", [], 304),
                ("GET", name + "?revision=1", same, 304), ("GET", name, [], 200),
            ] {
                let answer = try client.request(method, target, headers: fields)
                #expect(answer.status == status, "\(method) \(target)")
                #expect(Self.length(answer) == "\(count)", "\(method) \(target) \(status)")
                #expect(answer.body.count == (method == "GET" && status == 200 ? count : 0))
            }
            let sent = "\nlatchkey_http_response_body_bytes_total \(2 * count)\n"
            #expect(try client.request("GET", "/metrics").text.contains(sent))
        }
    }

    @Test func `a 204 has no length, and 100 has no field`() async throws {
        try await Deployment.inProcess.serve { site in
            let name = "/v1/properties/a"
            _ = try site.ask("PUT", name, "1")
            for (method, target, body) in [
                ("PUT", name, "2"), ("POST", name + "/touch?ttl=60", nil), ("DELETE", name, nil),
                ("POST", "/v1/contention/reset", nil), ("OPTIONS", name, nil),
                ("DELETE", "/v1/session", nil),
            ] as [(String, String, String?)] {
                let answer = try site.ask(method, target, body)
                #expect(answer.status == 204 && Self.length(answer) == nil, "\(method) \(target)")
            }
            let head = "PUT \(name) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n"
            let client = try site.sending(head + "Expect: 100-continue\r\n\r\n")
            let early = try client.head()
            #expect(early.status == 100 && early.headers.isEmpty)
            try client.send("1")
            #expect(try client.answer().status == 201)
        }
    }

    @Test func `an answer to HEAD has the length of the one to GET`() async throws {
        try await Deployment.inProcess.serve { site in
            _ = try site.ask("PUT", "/v1/properties/a", "1")
            // Figures change from one request to the next, and streams have no length.
            for target in [
                "/v1/properties", "/v1/properties/a", "/v1/properties/none", "/v1/count",
                "/v1/changes", "/v1/operations", "/v1/operations/none", "/v1/strategies",
                "/v1/cluster", "/v1/backup", "/v1/watches", "/openapi.yaml", "/problems/not-found",
                "/problems/none", "/version", "/healthz", "/readyz", "/", "/none",
                "/v1/properties?limit=x", "/v1/properties/%FF",
            ] {
                let get = try site.ask("GET", target)
                let head = try site.ask("HEAD", target)
                #expect(head.status == get.status && head.body.isEmpty, "\(target)")
                #expect(Self.length(head) == "\(get.body.count)", "\(target)")
            }
            // Requests that the server refuses by itself, before a route.
            for lines in ["Host: a\r\nHost: b", "Host: other.example"] {
                let answers = try ["GET", "HEAD"].map { method in
                    let client = try site.sending("\(method) /version HTTP/1.1\r\n\(lines)\r\n\r\n")
                    return try client.answer(toHEAD: method == "HEAD")
                }
                #expect(answers[0].status >= 400 && answers[0].status == answers[1].status)
                #expect(Self.length(answers[1]) == "\(answers[0].body.count)", "\(lines)")
            }
        }
    }
}
