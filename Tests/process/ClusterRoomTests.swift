import Foundation
import LatchkeyTestSupport
import Testing

/// Clusters in which something is full or too long.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct ClusterRoomTests {
    /// An answer of etcd's JSON gateway, which writes numbers as text.
    private struct Answer: Decodable {
        struct Header: Decodable {
            let revision: String
        }

        struct Alarm: Decodable {
            let memberID: String
        }

        let header: Header?
        let alarms: [Alarm]?
    }

    private static func ask(_ etcd: EtcdProcesses, _ path: String, _ body: String) throws -> Answer
    {
        try JSONDecoder().decode(Answer.self, from: etcd.ask(0, path, body))
    }

    /// The steps of an operator: compacts, defragments and disarms the alarms.
    private static func makeRoom(_ etcd: EtcdProcesses, members: Int) throws {
        let key = Data("/".utf8).base64EncodedString()
        let answer = try ask(etcd, "/v3/kv/range", "{\"key\":\"\(key)\"}")
        let revision = try #require(answer.header?.revision)
        try etcd.ask(0, "/v3/kv/compaction", "{\"revision\":\"\(revision)\",\"physical\":true}")
        for member in 0..<members { try etcd.ask(member, "/v3/maintenance/defragment") }
        let path = "/v3/maintenance/alarm"
        let alarms = try ask(etcd, path, #"{"action":"GET"}"#).alarms ?? []
        #expect(!alarms.isEmpty)
        for alarm in alarms {
            let which = "\"memberID\":\"\(alarm.memberID)\",\"alarm\":\"NOSPACE\""
            try etcd.ask(0, path, "{\"action\":\"DEACTIVATE\",\(which)}")
        }
    }

    @Test func `a full etcd costs writes only, and nothing that it refused comes later`()
        async throws
    {
        try await offPool {
            let etcd = try EtcdProcesses(
                members: 3,
                flags: ["--quota-backend-bytes", "\(4 << 20)"]
            )
            let replicas = try ReplicaSet(etcd)
            let value = "\"\(String(repeating: "x", count: 100_000))\""
            var made: [String: String] = [:]
            var refused: [String] = []
            // More than the quota, also while it is full.
            for number in 0..<90 where refused.count < 20 {
                let site = replicas.sites[number % 3]
                let answer = try site.ask("PUT", "/v1/properties/n\(number)", value)
                switch answer.status {
                case 201: made["n\(number)"] = answer.headers["etag"]
                case 507:
                    #expect(answer.problem == "disk-full")
                    refused.append("n\(number)")
                case let status: Issue.record("status \(status): \(answer.text)")
                }
            }
            #expect(refused.count == 20 && made.count >= 10)
            // None of the refused writes has an effect later.
            for site in replicas.sites {
                let read = try site.ask("GET", "/v1/properties/n0")
                #expect(read.status == 200)
                #expect(read.headers["latchkey-age"] != nil)
                let level = try site.ask("GET", "/v1/properties/n0?consistency=linearizable")
                #expect(level.status == 200)
                // It is ready, and says what is wrong.
                let ready = try site.ask("GET", "/readyz?verbose")
                #expect(ready.status == 200)
                #expect(ready.text.contains("etcd has failed for the log"), "\(ready.text)")
                #expect(ready.text.contains("database space exceeded"), "\(ready.text)")
                let metrics = try site.ask("GET", "/metrics").text
                let full = "latchkey_cluster_etcd_failures_total{kind=\"full\"} "
                #expect(metrics.contains(full) && !metrics.contains(full + "0\n"))
            }
            try Self.makeRoom(etcd, members: 3)
            for (number, site) in replicas.sites.enumerated() {
                try eventually("writes go on") {
                    let answer = try site.ask("PUT", "/v1/properties/later\(number)", "1")
                    return answer.status < 300
                }
            }
            for site in replicas.sites {
                try eventually("nothing is wrong any more") {
                    try !site.ask("GET", "/readyz?verbose").text.contains("has failed for the log")
                }
            }
            let state = try replicas.awaitSame()
            for name in refused { #expect(!state.contains("\"name\":\"\(name)\"")) }
            for (name, tag) in made {
                let read = try replicas.sites[1].ask("GET", "/v1/properties/\(name)")
                #expect(read.headers["etag"] == tag)
            }
            #expect(replicas.endAll())
        }
    }

    @Test func `an import is cut to what a smaller etcd takes`() async throws {
        try await offPool {
            let etcd = try EtcdProcesses(flags: ["--max-request-bytes", "\(256 << 10)"])
            let replicas = try ReplicaSet(etcd, strategies: ["lock"])
            let value = "\"\(String(repeating: "x", count: 50_000))\""
            let lines = (0..<20).map { "{\"name\":\"i\($0)\",\"value\":\(value)}\n" }
            let answer = try replicas.sites[0].ask(
                "POST",
                "/v1/import?partial=true",
                lines.joined(),
                headers: ["Content-Type: application/x-ndjson"]
            )
            #expect(answer.status == 200, "\(answer.text)")
            #expect(replicas.endAll())
        }
    }

    @Test func `the longest change goes to all replicas, and one byte more is refused`()
        async throws
    {
        try await offPool {
            let replicas = try ReplicaSet(flags: ["--max-body-bytes", "4MiB"])
            let site = replicas.sites[0]
            let json = ["Content-Type: application/json"]
            func put(_ count: Int) throws -> HTTPAnswer {
                let value = "\"\(String(repeating: "x", count: count - 2))\""
                return try site.ask("PUT", "/v1/properties/long", value, headers: json)
            }
            // The greatest length that is accepted, by halves.
            var (accepted, refused) = (1_490_000, 1_500_001)
            #expect(try put(accepted).status == 201)
            #expect(try put(refused).status == 413)
            while refused - accepted > 1 {
                let middle = (accepted + refused) / 2
                if try put(middle).status == 204 { accepted = middle } else { refused = middle }
            }
            // The change has few bytes beside the value.
            #expect(accepted > 1_499_800)
            #expect(try put(refused).problem == "body-too-large")
            #expect(try put(accepted).status == 204)
            let half = "\"\(String(repeating: "y", count: 900_000))\""
            let steps = ["a", "b"].map { "{\"put\":\"\($0)\",\"value\":\(half)}" }
            let both = "{\"then\":[\(steps.joined(separator: ","))]}"
            #expect(try site.ask("POST", "/v1/transactions", both, headers: json).status == 413)
            // Each line of an import is a change of its own.
            func importing(_ values: [String]) throws -> Int {
                let lines = values.enumerated().map { "{\"name\":\"i\($0)\",\"value\":\($1)}\n" }
                let ndjson = ["Content-Type: application/x-ndjson"]
                let target = "/v1/import?partial=true"
                return try site.ask("POST", target, lines.joined(), headers: ndjson).status
            }
            #expect(try importing([half, half]) == 200)
            let longer = "\"\(String(repeating: "z", count: 1_600_000))\""
            #expect(try importing(["1", longer]) == 413)
            #expect(try replicas.awaitSame().contains("xx"))
            for other in replicas.sites {
                let read = try other.ask("GET", "/v1/properties/long")
                #expect(read.body.count == accepted)
                #expect(try other.ask("GET", "/v1/properties/a").status == 404)
            }
            #expect(replicas.endAll())
        }
    }
}
