import Foundation
import LatchkeyService
import LatchkeyTestSupport
import Testing

@testable import latchkey

/// Tokens: who may do what, in both forms of the service.
@Suite(.timeLimit(.minutes(3)), .serialized)
struct AccessTests {
    @Test func `a request needs a token that counts`() async throws {
        let tokens = try Tokens(["ci": ["read,write"]])
        try await Deployment.inProcess.serve(tokens.flags) { site in
            let target = "/v1/properties/a"
            let none = try site.ask("GET", target)
            #expect(none.status == 401 && none.problem == "unauthorized")
            #expect(none.headers["www-authenticate"] == #"Bearer realm="latchkey""#)
            let fields = [
                "Bearer lk_" + String(repeating: "0", count: 72), "Bearer", "Bearer a b",
                "Bearer \(tokens["ci"])0",
            ]
            for field in ["Basic \(tokens["ci"])", "\(tokens["ci"])", "BearerX a"] {
                let other = try site.ask("GET", target, headers: ["Authorization: \(field)"])
                #expect(other.status == 401, "\(field)")
                #expect(other.headers["www-authenticate"] == #"Bearer realm="latchkey""#)
            }
            for field in fields {
                let wrong = try site.ask("GET", target, headers: ["Authorization: \(field)"])
                #expect(wrong.status == 401, "\(field)")
                #expect(
                    wrong.headers["www-authenticate"]?.contains(#"error="invalid_token""#) == true
                )
                #expect(!wrong.text.contains(tokens["ci"]))
            }
            let twice = tokens.headers("ci") + tokens.headers("ci")
            #expect(try site.ask("GET", target, headers: twice).status == 401)
            #expect(try site.ask("PUT", target, "1", headers: tokens.headers("ci")).status == 201)
            let lower = ["authorization: bearer \(tokens["ci"])"]
            #expect(try site.ask("GET", target, headers: lower).text == "1")
            for open in ["/", "/healthz", "/readyz", "/openapi.yaml", "/problems/forbidden"] {
                #expect(try site.ask("GET", open).status == 200)
            }
            #expect(try site.ask("GET", "/metrics").status == 401)
            let metrics = try site.ask("GET", "/metrics", headers: tokens.headers("ci")).text
            #expect(metrics.contains("\nlatchkey_access_tokens 1\n"))
            #expect(metrics.contains("\nlatchkey_access_insecure 0\n"))
        }
    }

    @Test(arguments: [Deployment.inProcess, .oneReplica])
    func `rights hold for prefixes, and what exceeds them is refused`(
        deployment: Deployment
    ) async throws {
        let tokens = try Tokens([
            "app": ["read,write:app/"], "see": ["read:app/"], "set": ["write:app/"],
            "all": ["read,write", "export", "import"], "out": ["read:app/", "export"],
            "in": ["write:app/", "import"],
        ])
        try await deployment.serve(tokens.flags) { site in
            func status(
                _ name: String,
                _ method: String,
                _ target: String,
                _ body: String? = nil,
                _ more: [String] = []
            ) throws -> Int {
                try site.ask(method, target, body, headers: tokens.headers(name) + more).status
            }
            let mine = "/v1/properties/app%2Fa"
            let other = "/v1/properties/b"
            let merge = ["Content-Type: application/merge-patch+json"]
            #expect(try status("app", "PUT", mine, "1") == 201)
            #expect(try status("all", "PUT", other, "1") == 201)
            for (method, target, body, more) in [
                ("GET", "", nil, []), ("GET", "?after=0", nil, []), ("GET", "?revision=1", nil, []),
                ("PUT", "", "2", []), ("PATCH", "", "3", merge), ("DELETE", "", nil, []),
                ("POST", "/increment", nil, []),
            ] as [(String, String, String?, [String])] {
                #expect(try status("app", method, other + target, body, more) == 403, "\(method)")
            }
            #expect(try status("see", "GET", mine) == 200)
            #expect(try status("see", "PUT", mine, "2") == 403)
            #expect(try status("set", "GET", mine) == 403)
            #expect(try status("set", "PUT", mine, "2") == 204)
            // Their answers have the value.
            #expect(try status("set", "POST", mine + "/increment") == 403)
            #expect(try status("set", "PATCH", mine, "5", merge) == 403)
            #expect(try status("app", "POST", mine + "/increment") == 200)
            for list in ["/v1/properties", "/v1/changes", "/v1/watch"] {
                for query in ["", "?prefix=ap", "?prefix=b"] {
                    let answer = try site.ask("GET", list + query, headers: tokens.headers("see"))
                    #expect(answer.status == 403 && answer.text.contains("the right read"))
                }
            }
            #expect(try status("see", "GET", "/v1/properties?prefix=app/") == 200)
            #expect(try status("see", "GET", "/v1/changes?prefix=app/x") == 200)
            #expect(try status("see", "GET", "/v1/watch?name=b") == 403)
            #expect(try status("out", "GET", "/v1/export") == 403)
            #expect(try status("see", "GET", "/v1/export?prefix=app/") == 403)
            #expect(try status("out", "GET", "/v1/export?prefix=app/") == 200)
            let lines = #"{"name":"app/i","value":1}"# + "\n" + #"{"name":"b","value":9}"# + "\n"
            let refused = try site.ask(
                "POST",
                "/v1/import?partial=true&batch=1",
                lines,
                headers: tokens.headers("in")
            )
            #expect(refused.status == 403 && refused.text.contains(#""line":2"#))
            #expect(refused.text.contains(#""imported":1"#))
            #expect(try site.ask("GET", other, headers: tokens.headers("all")).text == "1")
        }
    }

    @Test(arguments: [Deployment.inProcess, .oneReplica])
    func `a transaction needs all its rights`(deployment: Deployment) async throws {
        let tokens = try Tokens([
            "app": ["read,write:app/"], "see": ["read"], "set": ["write"], "all": ["read,write"],
        ])
        try await deployment.serve(tokens.flags) { site in
            let put = #"{"then":[{"put":"app/a","value":1}]}"#
            let get = #"{"then":[{"get":"app/a"}]}"#
            let other = #"{"then":[],"else":[{"put":"b","value":1}]}"#
            let condition = #"{"if":[{"name":"b","exists":true}],"then":[]}"#
            let increment = #"{"then":[{"increment":"app/n"}]}"#
            for (body, allowed) in [
                (put, ["app", "set", "all"]), (get, ["app", "see", "all"]),
                (other, ["set", "all"]),
                (condition, ["see", "all"]), (increment, ["app", "all"]),
            ] {
                for name in ["app", "see", "set", "all"] {
                    let answer = try site.ask(
                        "POST",
                        "/v1/transactions",
                        body,
                        headers: tokens.headers(name)
                    )
                    let expected = allowed.contains(name) ? 200 : 403
                    #expect(answer.status == expected, "\(name) \(body) \(answer.text)")
                }
            }
        }
    }

    @Test func `a request without a token is refused before its body`() async throws {
        let tokens = try Tokens(["ci": ["read,write"]])
        try await Deployment.inProcess.serve(tokens.flags) { site in
            let client = try site.client()
            try client.send(
                "PUT /v1/properties/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n"
                    + "Expect: 100-continue\r\n\r\n"
            )
            #expect(try client.answer().status == 401)
        }
    }

    @Test(arguments: [Deployment.inProcess, .oneReplica])
    func `operations are their owner's, and run with its rights`(
        deployment: Deployment
    ) async throws {
        let tokens = try Tokens([
            "one": ["read,write:app/", "operations"], "two": ["operations", "import"],
            "boss": ["operations", "admin"],
        ])
        try await deployment.serve(tokens.flags) { site in
            func ask(
                _ name: String,
                _ method: String,
                _ path: String,
                _ body: String? = nil
            ) throws
                -> HTTPAnswer
            {
                try site.ask(method, "/v1/operations" + path, body, headers: tokens.headers(name))
            }
            let steps = #"{"id":"mine","steps":[{"put":"app/a","value":1},{"wait":60}]}"#
            #expect(try ask("one", "POST", "", steps).status == 202)
            #expect(try ask("one", "GET", "/mine").text.contains(#""owner":"one""#))
            for (method, path) in [("GET", "/mine"), ("DELETE", "/mine"), ("GET", "/mine/events")] {
                #expect(try ask("two", method, path).status == 404)
            }
            #expect(try ask("two", "GET", "").text == #"{"operations":[]}"#)
            #expect(try ask("boss", "GET", "").text.contains(#""id":"mine""#))
            let behind = #"{"dependsOn":["mine"],"steps":[{"wait":0}]}"#
            #expect(try ask("two", "POST", "", behind).problem == "unknown-dependency")
            for step in [
                #"{"put":"b","value":1}"#, #"{"compare":{}}"#, #"{"import":"{}"}"#,
                #"{"transaction":{"then":[{"get":"b"}]}}"#,
            ] {
                let answer = try ask("one", "POST", "", #"{"steps":[\#(step)]}"#)
                #expect(answer.status == 403, "\(step) \(answer.text)")
            }
            // What is imported is known when the step is made.
            let lines = #"{"steps":[{"import":"{\"name\":\"app/x\",\"value\":1}\n"}],"id":"late"}"#
            #expect(try ask("two", "POST", "", lines).status == 202)
            let client = try EventStreamClient(
                port: site.port,
                "/v1/operations/late/events",
                headers: tokens.headers("two")
            )
            let last = try client.events { $0.data.contains(#""state":"failed""#) }.last
            #expect(last?.data.contains("/problems/forbidden") == true)
            #expect(try ask("boss", "DELETE", "/mine").status == 202)
        }
    }

    /// Before, what was charged to a token was given back to its address.
    @Test func `answers are charged to a token, and given back to it`() async throws {
        let tokens = try Tokens(["one": ["read,write", "export"], "two": ["read"]])
        let flags = ["--answer-bytes", "1MiB", "--open", "metrics"]
        try await Deployment.inProcess.serve(tokens.flags + flags) { site in
            let value = "\"" + String(repeating: "x", count: 100_000) + "\""
            let target = "/v1/properties/a"
            #expect(
                try site.ask("PUT", target, value, headers: tokens.headers("one")).status == 201
            )
            for name in ["one", "two"] {
                for target in [target, "/v1/properties", "/v1/changes"] {
                    for _ in 0..<20 {
                        let answer = try site.ask("GET", target, headers: tokens.headers(name))
                        #expect(
                            answer.status == 200,
                            "\(name) \(target) \(answer.text.prefix(200))"
                        )
                    }
                }
            }
            let export = try site.ask("GET", "/v1/export", headers: tokens.headers("one"))
            #expect(export.text.contains(#""end":true"#))
            try site.awaitMetric("latchkey_answer_bytes", 0)
        }
    }

    @Test func `keys and observers of tokens are apart`() async throws {
        let tokens = try Tokens(["one": ["read,write"], "two": ["read,write"]])
        try await Deployment.inProcess.serve(tokens.flags) { site in
            for value in ["one", "two"] {
                let headers = tokens.headers(value) + ["Idempotency-Key: k"]
                let target = "/v1/properties/\(value)"
                #expect(try site.ask("PUT", target, "1", headers: headers).status == 201)
                let again = try site.ask("PUT", target, "1", headers: headers)
                #expect(again.headers["idempotency-replayed"] == "true")
            }
            let watches = try ["one", "two"].map { name in
                try EventStreamClient(
                    port: site.port,
                    "/v1/watch?initial=true&observer=o",
                    headers: tokens.headers(name)
                )
            }
            for watch in watches {
                #expect(try watch.events { $0.type == "ready" }.count == 3)
            }
            let put = try site.ask("PUT", "/v1/properties/x", "1", headers: tokens.headers("one"))
            #expect(put.status == 201)
            for watch in watches {
                #expect(try watch.next()?.type == "put")
            }
        }
    }

    @Test func `a session's cookie stands for its token, for pages of this service`() async throws {
        let tokens = try Tokens(["page": ["read"]])
        try await Deployment.inProcess.serve(tokens.flags) { site in
            #expect(try site.ask("POST", "/v1/session").status == 401)
            let opened = try site.ask("POST", "/v1/session", headers: tokens.headers("page"))
            let field = opened.headers["set-cookie"] ?? ""
            #expect(opened.status == 204 && field.contains("; HttpOnly; SameSite=Strict"))
            #expect(field.contains("; Max-Age=3600; ") && !field.contains(tokens["page"]))
            let cookie = String(field.prefix { $0 != ";" })
            func list(_ headers: [String]) throws -> Int {
                try site.ask("GET", "/v1/properties", headers: headers).status
            }
            #expect(try list(["Cookie: \(cookie)"]) == 200)
            #expect(try list(["Cookie: a=b; \(cookie); c=d"]) == 200)
            let name = cookie.prefix { $0 != "=" }
            #expect(try list(["Cookie: \(name)=x; \(cookie)"]) == 200)
            // As a proxy may send it.
            #expect(try list(["Cookie: \(cookie)", "Authorization: Basic YTpi"]) == 200)
            #expect(try list(["Cookie: \(cookie)", "Sec-Fetch-Site: cross-site"]) == 403)
            #expect(try list(["Cookie: \(cookie)", "Origin: http://other.example"]) == 403)
            // A wrong header is not helped by a cookie.
            #expect(try list(["Cookie: \(cookie)", "Authorization: Bearer x"]) == 401)
            let value = cookie.drop { $0 != "=" }.dropFirst()
            for index in value.indices {
                var wrong = cookie
                wrong.replaceSubrange(index...index, with: [value[index] == "1" ? "2" : "1"])
                #expect(try list(["Cookie: \(wrong)"]) == 401, "\(wrong)")
            }
            // A cookie gives no other one: else a stolen one would last without limit.
            let renewed = try site.ask("POST", "/v1/session", headers: ["Cookie: \(cookie)"])
            #expect(renewed.status == 401 && renewed.headers["set-cookie"] == nil)
            let closed = try site.ask("DELETE", "/v1/session")
            #expect(closed.headers["set-cookie"]?.contains("Max-Age=0") == true)
        }
    }
}
