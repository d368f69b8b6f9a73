import LatchkeyTestSupport
import Testing

/// The answers that caches may keep, and how they ask again.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct CachingTests {
    /// The methods and paths of `openapi.yaml`, with names of their own for what is in braces.
    private static func operations(_ site: Site) throws -> [(method: String, path: String)] {
        let methods = ["get", "head", "put", "patch", "post", "delete"]
        var path = ""
        var operations: [(String, String)] = []
        for line in try site.ask("GET", "/openapi.yaml").text.split(separator: "\n") {
            if line == "components:" { break }
            if line.hasPrefix("  /") {
                path = String(line.dropFirst(2).dropLast())
                    .replacing("{name}", with: "a").replacing("{id}", with: "none")
                    .replacing("{problem}", with: "gone")
            } else if let method = methods.first(where: { line == "    \($0):" }) {
                operations.append((method.uppercased(), path))
            }
        }
        return operations
    }

    @Test func `every answer says how it may be kept`() async throws {
        let flags = ["--allow-origin", "http://app.example"]
        try await Deployment.inProcess.serve(flags) { site in
            let described = try Self.operations(site)
            #expect(described.count > 40)
            let others = [
                ("GET", "/nowhere"), ("BREW", "/healthz"), ("POST", "/healthz"), ("OPTIONS", "*"),
                ("OPTIONS", "/v1/properties/a"), ("GET", "/v1/properties/a?revision=9"),
                ("GET", "/v1/properties/%FF"), ("GET", "/healthz?x=1"), ("GET", "/problems/none"),
                ("GET", "/v1/changes?after=9"), ("PATCH", "/v1/properties/a"),
            ]
            let streams = ["/v1/watch", "/v1/export"]
            // A watch does not end.
            for (method, path) in described + others where (method, path) != ("GET", "/v1/watch") {
                let answer = try site.ask(method, path)
                let isRead = ["GET", "HEAD"].contains(method) && answer.status < 400
                let wanted = isRead && !streams.contains(path) ? "private, no-cache" : "no-store"
                #expect(
                    answer.headers["cache-control"] == wanted,
                    "\(method) \(path) \(answer.status)"
                )
            }
            let other = try site.ask("GET", "/v1/count", headers: ["Origin: http://x.example"])
            #expect((other.status, other.headers["cache-control"]) == (403, "no-store"))
        }
    }

    @Test func `a cached value is asked for again, and a missing one is not kept`() async throws {
        try await Deployment.inProcess.serve { site in
            func caching(_ method: String, _ fields: String...) throws -> (Int, String?) {
                let answer = try site.ask(method, "/v1/properties/a", headers: fields)
                return (answer.status, answer.headers["cache-control"])
            }
            for method in ["GET", "HEAD"] { #expect(try caching(method) == (404, "no-store")) }
            let key = ["Idempotency-Key: k"]
            for _ in 0..<2 {
                let put = try site.ask("PUT", "/v1/properties/a", "1", headers: key)
                #expect((put.status, put.headers["cache-control"]) == (201, "no-store"))
            }
            for method in ["GET", "HEAD"] {
                #expect(try caching(method) == (200, "private, no-cache"))
                #expect(try caching(method, #"If-None-Match: "1""#) == (304, "private, no-cache"))
                #expect(try caching(method, #"If-Match: "9""#) == (412, "no-store"))
            }
        }
    }

    @Test func `an answer that does not change has a tag, and is sent once`() async throws {
        try await Deployment.inProcess.serve { site in
            var tags: Set<String> = []
            let paths = [
                "/", "/openapi.yaml", "/version", "/v1/strategies", "/problems/gone",
                "/problems/forbidden",
            ]
            for path in paths {
                let first = try site.ask("GET", path)
                let tag = try #require(first.headers["etag"], "\(path)")
                #expect(tag.hasPrefix("\"") && tag.hasSuffix("\"") && tags.insert(tag).inserted)
                for method in ["GET", "HEAD"] {
                    for field in [tag, "W/\(tag)", "\"x\", \(tag)", "*"] {
                        let fields = ["If-None-Match: \(field)"]
                        let again = try site.ask(method, path, headers: fields)
                        #expect(again.status == 304 && again.body.isEmpty, "\(path) \(field)")
                        #expect(again.headers["etag"] == tag)
                        #expect(again.headers["content-type"] == nil)
                    }
                    for (field, status) in [
                        ("If-None-Match: \"x\"", 200), ("If-Match: \(tag)", 200),
                        ("If-Match: W/\(tag)", 412), ("If-None-Match: x", 400),
                    ] {
                        let answer = try site.ask(method, path, headers: [field])
                        #expect(answer.status == status, "\(path) \(field)")
                    }
                }
            }
        }
    }
}
