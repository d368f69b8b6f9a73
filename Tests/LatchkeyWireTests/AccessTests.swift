import LatchkeyTestSupport
import Testing

/// The rights of tokens, in both forms of the service.
///
/// Tests/contract/access.py tries each route with each right; here are prefixes, and rights that
/// are known only when the request runs.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct AccessTests {
    @Test func `a request needs a valid token`() async throws {
        let tokens = try Tokens(["ci": ["read,write"]])
        let token = tokens["ci"]
        try await Deployment.inProcess.serve(tokens.flags) { site in
            func ask(_ field: String) throws -> HTTPAnswer {
                try site.ask("GET", "/v1/properties/a", headers: ["Authorization: \(field)"])
            }
            let plain = #"Bearer realm="latchkey""#
            let none = try site.ask("GET", "/v1/properties/a")
            #expect(none.problem == "unauthorized" && none.headers["www-authenticate"] == plain)
            for (fields, isToken) in [
                (["Basic \(token)", token, "BearerX a"], false),
                (["Bearer lk_0", "Bearer", "Bearer a b", "Bearer \(token)0"], true),
            ] {
                for field in fields {
                    let answer = try ask(field)
                    #expect(answer.status == 401 && !answer.text.contains(token), "\(field)")
                    let shown = answer.headers["www-authenticate"] ?? ""
                    #expect(shown.contains(#"error="invalid_token""#) == isToken, "\(field)")
                    #expect(isToken || shown == plain, "\(field)")
                }
            }
            let ci = site.with(tokens, "ci")
            #expect(try ci.ask("GET", "/v1/count", headers: tokens.headers("ci")).status == 401)
            #expect(try ci.ask("PUT", "/v1/properties/a", "1").status == 201)
            for scheme in ["bearer", "Bearer ", "BEARER   "] {
                #expect(try ask("\(scheme) \(token)").text == "1", "\(scheme)")
            }
            let metrics = try ci.ask("GET", "/metrics").text
            #expect(metrics.contains("\nlatchkey_access_tokens 1\n"))
            #expect(metrics.contains("\nlatchkey_access_insecure 0\n"))
            // The body is not asked for.
            let fields = ["Content-Length: 1000", "Expect: 100-continue"]
            #expect(try site.ask("PUT", "/v1/properties/a", headers: fields).status == 401)
        }
    }

    @Test(arguments: [Deployment.inProcess, .oneReplica])
    func `rights hold for prefixes, and what exceeds them is refused`(
        deployment: Deployment
    ) async throws {
        let tokens = try Tokens([
            "app": ["read,write:app/"], "see": ["read:app/"], "set": ["write:app/"],
            "all": ["read,write"], "reader": ["read"], "writer": ["write"],
            "out": ["read:app/", "export"], "in": ["write:app/", "import"],
        ])
        let merge = ["Content-Type: application/merge-patch+json"]
        let (mine, other) = ("/v1/properties/app%2Fa", "/v1/properties/b")
        let (put, get) = (#"{"put":"app/a","value":1}"#, #"{"get":"app/a"}"#)
        let cases: [(String, String, String, String?, Int)] = [
            ("app", "PUT", mine, "1", 201), ("all", "PUT", other, "1", 201),
            ("app", "GET", other, nil, 403), ("app", "GET", other + "?after=0", nil, 403),
            ("app", "GET", other + "?revision=1", nil, 403), ("app", "PUT", other, "2", 403),
            ("app", "PATCH", other, "3", 403), ("app", "DELETE", other, nil, 403),
            ("app", "POST", other + "/increment", nil, 403), ("see", "GET", mine, nil, 200),
            ("see", "PUT", mine, "2", 403), ("set", "GET", mine, nil, 403),
            ("set", "PUT", mine, "2", 204),
            // Their answers have the value.
            ("set", "POST", mine + "/increment", nil, 403), ("set", "PATCH", mine, "5", 403),
            ("app", "POST", mine + "/increment", nil, 200),
            ("see", "GET", "/v1/properties?prefix=app/", nil, 200),
            ("see", "GET", "/v1/changes?prefix=app/x", nil, 200),
            ("see", "GET", "/v1/watch?name=b", nil, 403), ("out", "GET", "/v1/export", nil, 403),
            ("see", "GET", "/v1/export?prefix=app/", nil, 403),
            ("out", "GET", "/v1/export?prefix=app/", nil, 200),
        ]
        // Each transaction, and the tokens that may commit it.
        let transactions = [
            (#"{"then":[\#(put)]}"#, ["app", "set", "all", "writer"]),
            (#"{"then":[\#(get)]}"#, ["app", "see", "all", "reader"]),
            (#"{"then":[],"else":[{"put":"b","value":1}]}"#, ["all", "writer"]),
            (#"{"if":[{"name":"b","exists":true}],"then":[]}"#, ["all", "reader"]),
            (#"{"then":[{"increment":"app/n"}]}"#, ["app", "all"]),
        ]
        try await deployment.serve(tokens.flags) { site in
            for (name, method, target, body, status) in cases {
                let headers = method == "PATCH" ? merge : []
                let answer = try site.with(tokens, name).ask(method, target, body, headers: headers)
                #expect(answer.status == status, "\(name) \(method) \(target) \(answer.text)")
                let scope = #"Bearer realm="latchkey", error="insufficient_scope""#
                #expect(answer.headers["www-authenticate"] == (status == 403 ? scope : nil))
            }
            for list in ["/v1/properties", "/v1/changes", "/v1/watch"] {
                for query in ["", "?prefix=ap", "?prefix=b"] {
                    let answer = try site.with(tokens, "see").ask("GET", list + query)
                    #expect(answer.status == 403 && answer.text.contains("the right read"))
                }
            }
            for (body, allowed) in transactions {
                for name in ["app", "see", "set", "all", "reader", "writer"] {
                    let answer = try site.with(tokens, name).ask("POST", "/v1/transactions", body)
                    let status = allowed.contains(name) ? 200 : 403
                    #expect(answer.status == status, "\(name) \(body) \(answer.text)")
                }
            }
            let lines = #"{"name":"app/i","value":1}"# + "\n" + #"{"name":"b","value":9}"# + "\n"
            let refused = try site.with(tokens, "in")
                .ask("POST", "/v1/import?partial=true&batch=1", lines)
            #expect(refused.status == 403 && refused.text.contains(#""line":2"#))
            #expect(refused.text.contains(#""imported":1"#))
            #expect(try site.with(tokens, "all").ask("GET", other).text == "1")
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
            let (one, two) = (site.with(tokens, "one"), site.with(tokens, "two"))
            let boss = site.with(tokens, "boss")
            let mine = "/v1/operations/mine"
            let steps = #"{"id":"mine","steps":[{"put":"app/a","value":1},{"wait":60}]}"#
            #expect(try one.submit(steps).status == 202)
            let operation = try one.operation("mine")
            #expect(operation["owner"] == "one")
            for (method, target) in [("GET", mine), ("DELETE", mine), ("GET", mine + "/events")] {
                #expect(try two.ask(method, target).status == 404)
            }
            #expect(try two.list("").isEmpty)
            #expect(try boss.list("") == ["mine"])
            let behind = #"{"dependsOn":["mine"],"steps":[{"wait":0}]}"#
            #expect(try two.submit(behind).problem == "unknown-dependency")
            for step in [
                #"{"put":"b","value":1}"#, #"{"compare":{}}"#, #"{"import":"{}"}"#,
                #"{"transaction":{"then":[{"get":"b"}]}}"#,
            ] {
                #expect(try one.submit(#"{"steps":[\#(step)]}"#).status == 403, "\(step)")
            }
            // The imported names are known only when the step is made.
            let lines = #"{"steps":[{"import":"{\"name\":\"app/x\",\"value\":1}\n"}],"id":"late"}"#
            #expect(try two.submit(lines).status == 202)
            #expect(try two.events(of: "late").states.last == "failed")
            #expect(try two.operation("late").problem == "forbidden")
            #expect(try boss.ask("DELETE", mine).status == 202)
        }
    }

    /// Before, bytes that were charged to a token were given back to its address.
    @Test func `answers are charged to a token, and given back to it`() async throws {
        let tokens = try Tokens(["one": ["read,write", "export"], "two": ["read"]])
        let flags = ["--answer-bytes", "1MiB", "--open", "metrics"]
        try await Deployment.inProcess.serve(tokens.flags + flags) { site in
            let value = "\"" + String(repeating: "x", count: 100_000) + "\""
            let one = site.with(tokens, "one")
            #expect(try one.ask("PUT", "/v1/properties/a", value).status == 201)
            for caller in [one, site.with(tokens, "two")] {
                for target in ["/v1/properties/a", "/v1/properties", "/v1/changes"] {
                    for _ in 0..<20 {
                        #expect(try caller.ask("GET", target).status == 200, "\(target)")
                    }
                }
            }
            #expect(try one.ask("GET", "/v1/export").text.contains(#""end":true"#))
            try site.awaitMetric("latchkey_answer_bytes", 0)
        }
    }

    @Test func `keys and observers of tokens are apart`() async throws {
        let tokens = try Tokens(["one": ["read,write"], "two": ["read,write"]])
        try await Deployment.inProcess.serve(tokens.flags) { site in
            let callers = ["one", "two"].map { ($0, site.with(tokens, $0)) }
            for (name, caller) in callers {
                func put() throws -> HTTPAnswer {
                    let key = ["Idempotency-Key: k"]
                    return try caller.ask("PUT", "/v1/properties/\(name)", "1", headers: key)
                }
                #expect(try put().status == 201)
                #expect(try put().headers["idempotency-replayed"] == "true")
            }
            let watches = try callers.map { try $1.stream("/v1/watch?initial=true&observer=o") }
            for watch in watches {
                #expect(try watch.events { $0.type == "ready" }.count == 3)
            }
            #expect(try callers[0].1.ask("PUT", "/v1/properties/x", "1").status == 201)
            for watch in watches { #expect(try watch.next()?.type == "put") }
        }
    }

    @Test func `a session's cookie stands for its token, for pages of this service`() async throws {
        let tokens = try Tokens(["page": ["read"]])
        try await Deployment.inProcess.serve(tokens.flags) { site in
            let opened = try site.with(tokens, "page").ask("POST", "/v1/session")
            let field = opened.headers["set-cookie"] ?? ""
            #expect(opened.status == 204 && field.contains("; HttpOnly; SameSite=Strict"))
            #expect(field.contains("; Max-Age=3600; ") && !field.contains(tokens["page"]))
            let cookie = String(field.prefix { $0 != ";" })
            let (name, value) = (cookie.prefix { $0 != "=" }, cookie.drop { $0 != "=" }.dropFirst())
            func list(_ cookie: String, _ fields: String...) throws -> Int {
                try site.ask("GET", "/v1/properties", headers: ["Cookie: \(cookie)"] + fields)
                    .status
            }
            for right in [cookie, "a=b; \(cookie); c=d", "\(name)=x; \(cookie)"] {
                #expect(try list(right) == 200, "\(right)")
            }
            for (field, status) in [
                // As a proxy may send it.
                ("Authorization: Basic YTpi", 200),
                ("Sec-Fetch-Site: cross-site", 403), ("Origin: http://other.example", 403),
                // A wrong header is not helped by a cookie.
                ("Authorization: Bearer x", 401),
            ] {
                #expect(try list(cookie, field) == status, "\(field)")
            }
            for index in value.indices {
                var wrong = cookie
                wrong.replaceSubrange(index...index, with: [value[index] == "1" ? "2" : "1"])
                #expect(try list(wrong) == 401, "\(wrong)")
            }
            // A cookie gives no other cookie: otherwise a stolen one would last without limit.
            let renewed = try site.ask("POST", "/v1/session", headers: ["Cookie: \(cookie)"])
            #expect(renewed.status == 401 && renewed.headers["set-cookie"] == nil)
            let closed = try site.ask("DELETE", "/v1/session")
            #expect(closed.headers["set-cookie"]?.contains("Max-Age=0") == true)
        }
    }
}
