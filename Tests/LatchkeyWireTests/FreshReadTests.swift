import LatchkeyTestSupport
import Testing

extension HTTPAnswer {
    /// The revision of the property, by its tag.
    fileprivate var revision: UInt64? {
        headers["etag"].flatMap { UInt64($0.filter(\.isNumber)) }
    }
}

/// Reads that wait, at a service that is no replica.
@Suite(.timeLimit(.minutes(15)))
struct FreshReadTests {
    private static let readers = [
        "/v1/properties/a", "/v1/properties", "/v1/properties?name=a", "/v1/count", "/v1/changes",
        "/v1/properties/a?after=0&wait=1", "/v1/export",
    ]

    private static func target(_ path: String, _ query: String) -> String {
        path + (path.contains("?") ? "&" : "?") + query
    }

    @Test func `a service alone has what every read asks for`() async throws {
        try await Deployment.inProcess.serve { site in
            let put = try site.ask("PUT", "/v1/properties/a", "1")
            let revision = try #require(put.revision)
            for path in Self.readers {
                let plain = try site.ask("GET", path)
                for query in [
                    "consistency=local", "consistency=linearizable", "min-revision=\(revision)",
                    "min-revision=0", "consistency=linearizable&min-revision=\(revision)",
                ] {
                    let target = Self.target(path, query)
                    let answer = try site.ask("GET", target)
                    #expect(answer.status == 200 && answer.body == plain.body, "\(target)")
                    #expect(answer.headers["latchkey-age"] == nil)
                    #expect(try site.ask("HEAD", target).status == 200, "\(target)")
                }
                for query in [
                    "consistency=strong", "consistency=local&consistency=local", "min-revision=x",
                    "consistenc%79=local", "consistency", "consistency=local&other=1",
                    "min-revision=4611686018427387905",
                ] {
                    let target = Self.target(path, query)
                    let answer = try site.ask("GET", target)
                    #expect(answer.problem == "invalid-query", "\(target)")
                }
            }
            let watch = try site.stream(
                "/v1/watch?initial=true&consistency=linearizable&min-revision=\(revision)"
            )
            #expect(try watch.next()?.id != nil)
            for (method, path) in [
                ("PUT", "/v1/properties/a"), ("DELETE", "/v1/properties/a"),
                ("POST", "/v1/properties/a/increment"), ("GET", "/v1/strategies"),
            ] {
                let body = method == "PUT" ? "1" : nil
                let target = path + "?consistency=linearizable"
                #expect(try site.ask(method, target, body).problem == "invalid-query", "\(target)")
            }
            #expect(try site.ask("GET", "/v1/properties").headers["latchkey-revision"] == nil)
        }
    }

    @Test func `a read waits for a revision, in a place of its own, and gives up`() async throws {
        try await Deployment.inProcess.run(["--max-watchers", "2"]) { site, service in
            let revision = try #require(try site.ask("PUT", "/v1/properties/a", "1").revision)
            let path = "/v1/properties/a?min-revision="
            let end = " HTTP/1.1\r\nHost: localhost\r\n\r\n"
            let next = "GET \(path)\(revision + 2)\(end)"
            // Its client goes.
            let leaving = try (UInt8(1)...2).map { number in
                let client = try site.client(from: number)
                try client.send(next)
                try site.awaitMetric("latchkey_watchers", Int(number))
                return client
            }
            let target = "/v1/count?min-revision=\(revision + 2)"
            #expect(try site.ask("GET", target, from: 3).problem == "too-many-watchers")
            for client in leaving { client.close() }
            try site.awaitMetric("latchkey_watchers", 0)
            // It comes, by a commit that is no event of the property.
            let waiting = try site.client()
            try waiting.send(next)
            try site.awaitMetric("latchkey_watchers", 1)
            #expect(try site.ask("PUT", "/v1/properties/b?ttl=100", "1").revision == revision + 1)
            #expect(try site.ask("POST", "/v1/properties/b/touch?ttl=100").status == 204)
            #expect(try waiting.answer().status == 200)
            try site.awaitMetric("latchkey_watchers", 0)
            // It does not come.
            let late = try site.ask("GET", "/v1/properties/a?min-revision=\(revision + 9)&after=0")
            #expect(late.problem == "not-level" && late.status == 503)
            #expect(late.headers["retry-after"] == "1")
            // The service ends.
            try waiting.send("GET \(path)\(revision + 9)\(end)")
            try site.awaitMetric("latchkey_watchers", 1)
            service.drain()
            #expect(try waiting.answer().problem == "draining")
        }
    }
}
