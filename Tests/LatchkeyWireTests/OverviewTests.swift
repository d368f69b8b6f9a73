import Foundation
import LatchkeyTestSupport
import Testing

/// The overview, and the list of watches.
@Suite(.timeLimit(.minutes(15)))
struct OverviewTests {
    private static func object(_ answer: HTTPAnswer) throws -> [String: Any] {
        #expect(answer.status == 200, "\(answer.text)")
        return try #require(answer.json as? [String: Any])
    }

    /// The sum of the samples of a metric whose labels have this text.
    private static func sum(_ metrics: String, _ name: String, _ text: String = "") -> Int {
        metrics.split(separator: "\n")
            .filter { $0.hasPrefix(name + "{") || $0.hasPrefix(name + " ") }
            .filter { text.isEmpty || $0.contains(text) }
            .compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }
            .reduce(0) { $0 + Int($1) }
    }

    @Test func `its figures are those of the metrics`() async throws {
        try await Deployment.inProcess.serve(["--max-properties", "20"]) { site in
            let client = try site.client()
            for number in 0..<12 {
                _ = try client.request("PUT", "/v1/properties/\(number)", body: [0x31])
                _ = try client.request("GET", "/v1/properties/none")
            }
            let watch = try site.stream("/v1/watch?initial=true")
            #expect(try watch.events { $0.type == "ready" }.count == 13)
            // The overview counts itself and the scrape before it, the scrape neither.
            let metrics = try client.request("GET", "/metrics").text
            let found = try Self.object(try client.request("GET", "/v1/overview"))
            for (name, metric) in [
                ("properties", "latchkey_store_properties"), ("bytes", "latchkey_store_bytes"),
                ("revision", "latchkey_store_revision"), ("watchers", "latchkey_watchers"),
            ] {
                #expect(found[name] as? Int == Self.sum(metrics, metric), "\(name)")
            }
            let requests = "latchkey_http_requests_total"
            #expect(found["requests"] as? Int == Self.sum(metrics, requests) + 1)
            #expect(found["clientErrors"] as? Int == Self.sum(metrics, requests, #"status="4"#))
            #expect(found["clientErrors"] as? Int == 12 && found["serverErrors"] as? Int == 0)
            let memory = try #require(found["memoryBytes"] as? Int)
            let resident = Self.sum(metrics, "process_resident_memory_bytes")
            #expect(abs(memory - resident) < resident / 2)
            let bounds = try #require(found["bounds"] as? [[String: Any]])
            #expect(bounds.first?["name"] as? String == "max-properties")
            #expect(bounds.first?["effect"] as? String == "refuses")
            #expect(bounds.first?["used"] as? Int == 12 && bounds.first?["limit"] as? Int == 20)
            withExtendedLifetime(watch) {}
        }
    }

    @Test func `it names the most requested properties, to clients that may see them`() async throws
    {
        let tokens = try Tokens([
            "boss": ["read", "admin"], "app": ["read,write:app/"], "other": ["read:other/"],
        ])
        try await Deployment.inProcess.serve(tokens.flags) { site in
            // Which requests are counted depends on their identifiers only: the same in each run.
            let app = try site.client()
            let token = ["Authorization: Bearer \(tokens["app"])"]
            for number in 0..<1000 {
                let name = number % 4 == 0 ? "app%2Fb\(number % 5)" : "app%2Fhot"
                _ = try app.request("GET", "/v1/properties/\(name)", headers: token)
                // Refused, so its name is nowhere.
                guard number % 4 == 0 else { continue }
                _ = try app.request("GET", "/v1/properties/other%2Fx", headers: token)
            }
            func traffic(_ name: String) throws -> [String: Any] {
                let answer = try site.with(tokens, name).ask("GET", "/v1/overview")
                return try #require(try Self.object(answer)["traffic"] as? [String: Any])
            }
            func names(_ traffic: [String: Any], _ kind: String) -> [String]? {
                (traffic[kind] as? [[String: Any]])?.compactMap { $0["name"] as? String }
            }
            let all = try traffic("boss")
            #expect(names(all, "names")?.first == "app/hot")
            #expect(names(all, "prefixes") == ["app/"] && names(all, "tokens")?.first == "app")
            let found = try #require(all["names"] as? [[String: Any]])
            let rates = found.compactMap { $0["requestsPerSecond"] as? Double }
            #expect(rates == rates.sorted(by: >) && rates.count == found.count)
            #expect(found.allSatisfy { $0["errorPerSecond"] as? Double == 0 })
            let seconds = try #require(all["seconds"] as? Double)
            // 750 requests, and √(750 / 64) × 64 is the error: four times that.
            #expect(abs((rates.first ?? 0) * seconds - 750) < 4 * 220)
            let own = try traffic("app")
            #expect(names(own, "names")?.first == "app/hot" && own["tokens"] == nil)
            let none = try traffic("other")
            #expect(names(none, "names") == [] && names(none, "prefixes") == [])
        }
    }

    @Test func `clients with the right see the list of watches`() async throws {
        let tokens = try Tokens(["boss": ["admin"], "app": ["read:app/", "read:x"]])
        try await Deployment.inProcess.serve(tokens.flags) { site in
            let (app, boss) = (site.with(tokens, "app"), site.with(tokens, "boss"))
            let watch = try app.stream("/v1/watch?prefix=app/&observer=o&initial=true")
            #expect(try watch.events { $0.type == "ready" }.count == 1)
            let poll = try app.asking("GET", "/v1/properties/x?after=0&wait=60")
            try app.awaitMetric("latchkey_watchers", 2)
            let answer = try boss.ask("GET", "/v1/watches")
            #expect(!answer.text.contains(tokens["app"]) && !answer.text.contains("lk_"))
            let found = try Self.object(answer)
            #expect(found["count"] as? Int == 2 && found["next"] == nil)
            let list = try #require(found["watches"] as? [[String: Any]])
            #expect(Set(list.compactMap { $0["kind"] as? String }) == ["watch", "poll"])
            for entry in list {
                let isPoll = entry["kind"] as? String == "poll"
                #expect(entry["token"] as? String == "app")
                #expect(entry["address"] as? String == "127.0.0.1")
                #expect((entry["since"] as? String)?.hasPrefix("20") == true)
                #expect(entry["prefixes"] as? [String] == (isPoll ? [] : ["app/"]))
                #expect(entry["names"] as? [String] == (isPoll ? ["x"] : []))
                #expect(entry["observer"] as? String == (isPoll ? nil : "o"))
                #expect(entry["state"] as? String == (isPoll ? "waiting" : "live"))
            }
            let page = try Self.object(try boss.ask("GET", "/v1/watches?limit=1"))
            let next = try #require(page["next"] as? Int)
            let rest = try Self.object(try boss.ask("GET", "/v1/watches?limit=1&after=\(next)"))
            #expect((rest["watches"] as? [Any])?.count == 1 && rest["next"] == nil)
            for query in ["limit=0", "limit=1001", "after=x", "after=-1", "after=%2B1", "b=1"] {
                let wrong = try boss.ask("GET", "/v1/watches?\(query)")
                #expect(wrong.problem == "invalid-query", "\(query)")
            }
            watch.close()
            poll.close()
            try app.awaitMetric("latchkey_watchers", 0)
        }
    }

    @Test func `names can be listed as folders`() async throws {
        try await Deployment.inProcess.serve { site in
            let client = try site.client()
            for name in ["a", "a%2F", "a%2Fb", "a%2Fc%2Fd", "b%2Fc", "%C3%BC%2F1", "z"] {
                _ = try client.request("PUT", "/v1/properties/\(name)", body: [0x31])
            }
            func list(_ query: String) throws -> [String: Any] {
                try Self.object(
                    try client.request("GET", "/v1/properties?values=false&delimiter=/\(query)")
                )
            }
            func names(_ page: [String: Any]) -> [String] {
                (page["properties"] as? [[String: Any]] ?? []).compactMap { $0["name"] as? String }
            }
            let root = try list("")
            #expect(names(root) == ["a", "z"])
            #expect(root["folders"] as? [String] == ["a/", "b/", "ü/"] && root["next"] == nil)
            let inside = try list("&prefix=a/")
            #expect(names(inside) == ["a/", "a/b"])
            #expect(inside["folders"] as? [String] == ["a/c/"])
            #expect(try list("&prefix=a/c/")["folders"] == nil)
            var (found, after) = (0, "")
            repeat {
                let page = try list("&limit=2" + (after.isEmpty ? "" : "&after=\(after)"))
                let count = names(page).count + (page["folders"] as? [String] ?? []).count
                after = page["next"] as? String ?? ""
                #expect(count == 2 || after.isEmpty)
                found += count
            } while !after.isEmpty
            #expect(found == 5)
            for wrong in ["delimiter=", "delimiter=ab", "delimiter=%C3%BC", "delimiter=%00"] {
                let answer = try client.request("GET", "/v1/properties?\(wrong)")
                #expect(answer.problem == "invalid-query", "\(wrong)")
            }
        }
    }
}
