import LatchkeyTestSupport
import Testing

/// The header lines that keep a page of another site from using an answer.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct SniffingTests {
    private static let lines = [
        "x-content-type-options": "nosniff", "cross-origin-resource-policy": "same-origin",
    ]

    private static func check(_ headers: [String: String], _ what: String) {
        for (name, value) in lines {
            #expect(headers[name] == value, "\(name) of \(what)")
        }
    }

    @Test(arguments: [Deployment.inProcess, .encrypted])
    func `every answer of the service has them once`(deployment: Deployment) async throws {
        let bounds = ["--max-body-bytes", "1000", "--request-timeout-seconds", "2"]
        try await deployment.serve(bounds) { site in
            let tag = try site.ask("PUT", "/v1/properties/p", "1").headers["etag"] ?? ""
            let requests: [(String, String, String?, [String], Int)] = [
                ("GET", "/", nil, [], 200), ("HEAD", "/", nil, [], 200),
                ("GET", "/v1/properties/p", nil, [], 200),
                ("GET", "/v1/properties/p", nil, ["If-None-Match: \(tag)"], 304),
                ("PUT", "/v1/properties/p", "2", [], 204), ("GET", "/nowhere", nil, [], 404),
                ("POST", "/metrics", "", [], 405), ("OPTIONS", "/metrics", nil, [], 204),
                ("GET", "/v1/export", nil, [], 200), ("GET", "/openapi.yaml", nil, [], 200),
                ("GET", "/problems/not-found", nil, [], 200),
                ("PUT", "/v1/properties/p", "{", [], 400),
                ("GET", "/metrics", nil, ["Sec-Fetch-Site: cross-site"], 403),
                ("GET", "/metrics", nil, ["Origin: http://evil.example"], 403),
            ]
            for (method, target, body, fields, status) in requests {
                let answer = try site.ask(method, target, body, headers: fields)
                #expect(answer.status == status, "\(method) \(target)")
                Self.check(answer.headers, "\(method) \(target) \(fields)")
            }
            let watch = try site.stream("/v1/watch")
            Self.check(watch.headers, "a stream")
            // Those that are not complete. Past the library, so not under TLS, goes the first.
            for (request, status) in [
                (
                    "PUT /v1/properties/p HTTP/1.1\r\nHost: localhost\r\n"
                        + "Content-Length: 9\r\n\r\n1",
                    408
                ),
                (
                    "PUT /v1/properties/p HTTP/1.1\r\nHost: localhost\r\n"
                        + "Content-Length: 99999999\r\n\r\n1", 413
                ),
                ("GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n", 400),
            ] {
                let client = try site.client()
                try client.send(request)
                guard deployment.writesPastLibrary || status != 408 else {
                    #expect(try client.isClosed(), "\(status)")
                    continue
                }
                let answer = try client.answer()
                #expect(answer.status == status)
                Self.check(answer.headers, "\(status)")
            }
        }
    }
}
