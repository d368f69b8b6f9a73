import Foundation
import LatchkeyComparison
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// The limits of the store over HTTP, and the metrics that tell how full it is.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct BoundedMemoryTests {
    @Test(arguments: Deployment.strategies)
    func `the metrics are what the list adds up to`(deployment: Deployment) async throws {
        let flags = ["--eviction", "lru", "--max-properties", "9", "--max-bytes", "200"]
        try await deployment.serve(flags) { site in
            let seed: UInt64 = 3
            var random = SeededRandom(seed: seed)
            let client = try site.client()
            for step in 0..<120 {
                let name = "n\(Int.random(in: 0..<20, using: &random))"
                let path = "/v1/properties/\(name)"
                let digits = Int.random(in: 1...60, using: &random)
                let value = Array("\"\(String(repeating: "x", count: digits))\"".utf8)
                let answer =
                    switch Int.random(in: 0..<6, using: &random) {
                    case 0: try client.request("DELETE", path)
                    case 1: try client.request("GET", path)
                    case 2: try client.request("PUT", "\(path)?ttl=3600", body: value)
                    default: try client.request("PUT", path, body: value)
                    }
                #expect(answer.status < 500, "seed \(seed), step \(step)")
                // Not after each step: a wrong count stays wrong, and the check takes most of the
                // time.
                guard step % 4 == 3 else {
                    continue
                }
                let used = try Used(client)
                #expect(used.listed == used.measured, "seed \(seed), step \(step)")
                #expect(used.measured.properties <= 9)
                #expect(used.measured.bytes <= 200)
            }
            let metrics = try client.request("GET", "/metrics").text
            let evictions = try Used.sample("latchkey_store_evictions_total", metrics)
            let changes = try client.request("GET", "/v1/changes?limit=1000").text
            #expect(evictions > 0)
            #expect(changes.split(separator: #""reason":"evicted""#).count - 1 == evictions)
        }
    }

    @Test(arguments: Deployment.allCases)
    func `a full store refuses with 507, and nothing is applied`(
        deployment: Deployment
    ) async throws {
        let flags = ["--max-properties", "3", "--max-bytes", "30"]
        try await deployment.serve(flags) { site in
            let client = try site.client()
            func status(_ method: String, _ target: String, _ body: String) throws -> String? {
                let answer = try client.request(method, target, body: Array(body.utf8))
                return answer.problem ?? "\(answer.status)"
            }
            #expect(try status("PUT", "/v1/properties/a", "1234567890") == "201")
            #expect(try status("PUT", "/v1/properties/b", "1234567890") == "201")
            let before = try client.request("GET", "/v1/properties").text
            // At the limit of bytes, and one above it.
            #expect(try status("PUT", "/v1/properties/c", "12345678") == "store-full")
            let steps = #"{"then":[{"delete":"a"},{"put":"c","value":1},{"increment":"d"},"#
            let many = steps + #"{"put":"e","value":1},{"put":"f","value":1}]}"#
            #expect(try status("POST", "/v1/transactions", many) == "store-full")
            #expect(try client.request("GET", "/v1/properties").text == before)
            #expect(try status("PUT", "/v1/properties/c", "1234567") == "201")
            #expect(try status("POST", "/v1/properties/d/increment", "") == "store-full")
            #expect(try status("PUT", "/v1/properties/a", "1") == "204")
            let used = try Used(client)
            #expect(used.measured == used.listed)
            #expect(used.measured == Used.Size(properties: 3, bytes: 21))
        }
    }
}

/// How full a store is, by its list and by its metrics.
private struct Used {
    struct Size: Hashable {
        let properties: Int
        let bytes: Int
    }

    let listed: Size
    let measured: Size

    init(_ client: HTTPClient) throws {
        let list = try client.request("GET", "/v1/properties?limit=1000")
        let page = try #require(list.json as? [String: Any])
        let rows = try #require(page["properties"] as? [[String: Any]])
        let names = rows.compactMap { ($0["name"] as? String)?.utf8.count }
        // Texts of letters, which have quotes around them, and integers.
        let values = rows.compactMap { row in
            (row["value"] as? String).map { $0.utf8.count + 2 }
                ?? (row["value"] as? Int).map { "\($0)".count }
        }
        listed = Size(
            properties: rows.count,
            bytes: names.reduce(0, +) + values.reduce(0, +)
        )
        let metrics = try client.request("GET", "/metrics").text
        measured = Size(
            properties: try Self.sample("latchkey_store_properties", metrics),
            bytes: try Self.sample("latchkey_store_bytes", metrics)
        )
    }

    static func sample(_ name: String, _ metrics: String) throws -> Int {
        let line = metrics.split(separator: "\n").first { $0.hasPrefix("\(name) ") }
        return try #require(line.flatMap { Int($0.dropFirst(name.count + 1)) })
    }
}
