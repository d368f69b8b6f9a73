import Foundation
import LatchkeyTestSupport
import Testing

/// What `curl` sends by itself is taken for what it is, or the answer says how to send it.
@Suite(.timeLimit(.minutes(3)), .serialized)
struct BodyTypeTests {
    private static let form = "Content-Type: application/x-www-form-urlencoded"

    private static let writes = [
        ("PUT", "/v1/properties/p", "2", 204),
        ("PATCH", "/v1/properties/p", #"{"a":1}"#, 200),
        ("POST", "/v1/properties/n/increment", #"{"by":2}"#, 200),
        ("POST", "/v1/transactions", #"{"then":[{"put":"p","value":2}]}"#, 200),
        ("POST", "/v1/operations", #"{"steps":[{"put":"p","value":2}]}"#, 202),
        ("POST", "/v1/import?partial=true", #"{"name":"p","value":2}"#, 200),
    ]

    @Test(arguments: Deployment.allCases)
    func `the type that curl gives to a body is taken as JSON, but not from a browser`(
        deployment: Deployment
    ) async throws {
        try await deployment.serve { site in
            _ = try site.ask("PUT", "/v1/properties/p", "1")
            let revision = try site.ask("GET", "/v1/properties/p").headers["etag"]
            for (method, target, body, _) in Self.writes {
                for browser in [
                    "Origin: http://localhost", "Sec-Fetch-Site: none",
                    "Sec-Fetch-Site: same-origin",
                ] {
                    let headers = [Self.form, browser]
                    let refused = try site.ask(method, target, body, headers: headers)
                    #expect(refused.problem == "unsupported-media-type", "\(target) \(browser)")
                }
                for other in ["Origin: http://evil.example", "Sec-Fetch-Site: cross-site"] {
                    let refused = try site.ask(method, target, body, headers: [Self.form, other])
                    #expect(refused.problem == "cross-site-request", "\(target) \(other)")
                }
            }
            #expect(try site.ask("GET", "/v1/properties/p").headers["etag"] == revision)
            for (method, target, body, status) in Self.writes {
                let taken = try site.ask(method, target, body, headers: [Self.form])
                #expect(taken.status == status, "\(method) \(target): \(taken.text)")
            }
        }
    }

    @Test(arguments: Deployment.allCases)
    func `a form that is no JSON is 415, with a sentence that says how`(
        deployment: Deployment
    ) async throws {
        try await deployment.serve { site in
            for (method, target, _, _) in Self.writes.dropLast() {
                for body in ["a=1", "%7B%22a%22%3A1%7D=", "{"] {
                    let refused = try site.ask(method, target, body, headers: [Self.form])
                    #expect(refused.problem == "unsupported-media-type", "\(target) \(body)")
                    #expect(refused.text.contains("--json in place of -d"))
                }
            }
            let twice = try site.ask(
                "PUT",
                "/v1/properties/p",
                "1",
                headers: [Self.form, Self.form]
            )
            #expect(twice.problem == "unsupported-media-type")
            #expect(try site.ask("GET", "/v1/properties/p").status == 404)
        }
    }

    @Test(arguments: Deployment.allCases)
    func `a merge patch may come as JSON or without a type, and as no other one`(
        deployment: Deployment
    ) async throws {
        try await deployment.serve { site in
            let target = "/v1/properties/p"
            for (type, value) in [
                ("Content-Type: application/json", 1), ("X-None: x", 2),
                ("Content-Type: application/merge-patch+json; charset=utf-8", 3),
            ] {
                let patched = try site.ask("PATCH", target, "{\"a\":\(value)}", headers: [type])
                #expect(patched.text == "{\"a\":\(value)}", "\(type)")
            }
            for type in ["application/json-patch+json", "application/ld+json", "text/plain"] {
                let refused = try site.ask(
                    "PATCH",
                    target,
                    #"{"a":9}"#,
                    headers: ["Content-Type: \(type)"]
                )
                #expect(refused.problem == "unsupported-media-type", "\(type)")
            }
            #expect(try site.ask("GET", target).text == #"{"a":3}"#)
        }
    }

    @Test(arguments: Deployment.allCases)
    func `a slash in a name is 404 with the right path`(deployment: Deployment) async throws {
        try await deployment.serve { site in
            for (method, path, right) in [
                ("PUT", "orders/a", "orders%2Fa"), ("GET", "orders/a?x=1", "orders%2Fa"),
                ("POST", "orders/a/increment", "orders%2Fa/increment"),
            ] {
                let body = method == "GET" ? nil : "1"
                let answer = try site.ask(method, "/v1/properties/" + path, body)
                #expect(answer.problem == "no-route")
                let detail = (answer.json as? [String: Any])?["detail"] as? String
                #expect(detail == "A / in a name is written %2F: /v1/properties/" + right)
            }
            let other = try site.ask("GET", "/nowhere/else")
            #expect(other.problem == "no-route" && other.text.contains("openapi.yaml"))
        }
    }
}
