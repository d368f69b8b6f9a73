import Foundation
import LatchkeyStrategies
import LatchkeySyncTesting
import LatchkeyTestSupport
import Testing

/// `--cluster`: three replicas are as one service, whatever happens to one of them or to etcd.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct ClusterTests {
    /// Clients that write at all replicas; returns how many changes each has got through.
    private static func load(_ replicas: ReplicaSet, count: Int) -> [Int] {
        let sites = replicas.sites
        let done = Guarded<[Int]>(Array(repeating: 0, count: 6))
        let threads = (0..<6).map { client in
            TestThread {
                var random = SeededGenerator(UInt64(client))
                let made = Result { try sites[client % sites.count].write(count, &random) }
                // A failure that is recorded here would belong to no test.
                if case .failure(let error) = made { print("client \(client): \(error)") }
                done.write { $0[client] = (try? made.get()) ?? 0 }
            }
        }
        for thread in threads { _ = thread.join() }
        return done.read { $0 }
    }

    @Test func `three replicas have the same properties, revisions, tags and events`()
        async throws
    {
        try await offPool {
            let replicas = try ReplicaSet()
            #expect(Self.load(replicas, count: 60).allSatisfy { $0 == 60 })
            // All that expires is removed by a commit.
            try replicas.sites[0].awaitQuiet()
            try replicas.awaitSame()
            let events = try replicas.sites.map {
                try $0.ask("GET", "/v1/changes?limit=1000").text
            }
            #expect(Set(events).count == 1)
            for name in (0..<10).map({ "p\($0)" }) + ["sum", "last"] {
                let answers = try replicas.sites.map { try $0.ask("GET", "/v1/properties/\(name)") }
                #expect(Set(answers.map(\.status)).count == 1)
                #expect(Set(answers.map { $0.headers["etag"] }).count == 1)
                #expect(Set(answers.map(\.said)).count == 1)
                #expect(answers.allSatisfy { $0.headers["latchkey-age"] != nil })
            }
            #expect(replicas.endAll())
        }
    }

    @Test func `a replica that is killed finds its place, also without its data`() async throws {
        try await offPool {
            let replicas = try ReplicaSet()
            #expect(Self.load(replicas, count: 20).allSatisfy { $0 == 20 })
            try replicas.awaitSame()
            replicas.end(2)
            try replicas.copyData(2)
            #expect(try replicas.sites[0].ask("PUT", "/v1/properties/x", "1").status == 201)
            try replicas.start(2)
            try replicas.awaitSame()
            // Its data of some time ago, and then none.
            replicas.end(2)
            #expect(try replicas.sites[0].ask("PUT", "/v1/properties/y", "1").status == 201)
            try replicas.copyData(2, back: true)
            try replicas.start(2)
            try replicas.awaitSame()
            replicas.end(2)
            try replicas.removeData(2)
            try replicas.offerState(running: 2)
            try replicas.start(2)
            try replicas.awaitSame()
            // All at once.
            for index in 0..<3 { replicas.end(index) }
            for index in 0..<3 { try replicas.start(index) }
            #expect(try replicas.awaitSame().contains(#"{"name":"y","value":1"#))
            #expect(replicas.endAll())
        }
    }

    @Test func `other settings are refused, and an entry of a later format stops a replica`()
        async throws
    {
        try await offPool {
            let replicas = try ReplicaSet(strategies: ["lock"])
            let result = try replicas.refused(7, ["--max-bytes", "77777", "--eviction", "lru"])
            #expect(result.status != 0)
            #expect(result.errors.contains("All replicas need the same --eviction"))
            let site = replicas.sites[0]
            #expect(try site.ask("PUT", "/v1/properties/a", "1").status == 201)
            let state = try ReplicaSet.state(site)
            try replicas.insert([200, 1, 2])
            try eventually("it is diverged") {
                try site.ask("GET", "/readyz?verbose").text.contains("has format 200")
            }
            #expect(try ReplicaSet.state(site) == state)
            #expect(try site.ask("PUT", "/v1/properties/a", "1").status == 503)
            #expect(replicas.endAll())
            #expect(try replicas.refused(0, []).errors.contains("update this replica"))
        }
    }

    @Test func `a new replica takes the state of another one`() async throws {
        try await offPool {
            let replicas = try ReplicaSet(strategies: ["lock"])
            let steps = (0..<50).map { #"{"put":"n\#($0)","value":1}"# }.joined(separator: ",")
            for _ in 0..<30 {
                let answer = try replicas.sites[0].ask(
                    "POST",
                    "/v1/transactions",
                    "{\"then\":[\(steps)]}",
                    headers: ["Content-Type: application/json"]
                )
                #expect(answer.status == 200)
            }
            for number in 0..<1000 {
                let path = "/v1/properties/m\(number % 7)"
                #expect(try replicas.sites[0].ask("PUT", path, "\(number)").status < 300)
            }
            let backup = try replicas.sites[0].ask("GET", "/v1/backup")
            #expect(backup.status == 200 && backup.body.starts(with: Array("SQLite format 3".utf8)))
            try replicas.offerState()
            try replicas.add()
            try replicas.awaitSame()
            #expect(replicas.endAll())
        }
    }

    /// The answer of a replica about the cluster.
    private struct Known: Decodable {
        struct Cluster: Decodable {
            let name: String
            let ageSeconds: Double
            let rules: Int
            let replicas: [Each]
        }
        struct Each: Decodable {
            let id: String
            let isThis: Bool
            let url: String?
            let state: String
            let revision: UInt64
            let knownRules: Int
            let noteSeconds: Double
        }

        let cluster: Cluster?
    }

    @Test func `each replica says what the others have said last, and how long ago`() async throws {
        try await offPool {
            let replicas = try ReplicaSet(
                strategies: ["lock", "lock"],
                flags: ["--cluster-url", "http://127.0.0.1:7"]
            )
            func known(_ index: Int) throws -> Known.Cluster {
                let body = try replicas.sites[index].ask("GET", "/v1/cluster").body
                return try #require(try JSONDecoder().decode(Known.self, from: Data(body)).cluster)
            }
            let written = try replicas.sites[0].ask("PUT", "/v1/properties/a", "1")
            let revision = try #require(written.revision)
            // Each counts the entries of its own clients.
            for (site, count) in zip(replicas.sites, [1, 0]) {
                try site.awaitMetric("latchkey_cluster_changes_total", count)
                try site.awaitMetric("latchkey_cluster_entry_repetitions_total", 0)
            }
            let sum = try replicas.metric("latchkey_cluster_entry_seconds_total", at: 0)
            #expect(try #require(sum.flatMap { Double($0) }) > 0)
            // Alerts ask for these two.
            try replicas.sites[0].awaitMetric("latchkey_cluster_state{state=\"serving\"}", 1)
            try eventually("the replica is young") {
                try replicas.metric("latchkey_cluster_age_seconds", at: 0)?.hasPrefix("0") == true
            }
            try eventually("each has heard of the other's revision") {
                try (0..<2).allSatisfy { index in
                    let each = try known(index)
                    return each.replicas.map(\.revision) == [revision, revision]
                        && each.replicas.allSatisfy { $0.state == "serving" }
                }
            }
            let (one, other) = (try known(0), try known(1))
            #expect(one.name == "test" && one.ageSeconds >= 0)
            // A new cluster begins with the latest rules.
            #expect(one.rules == 2 && one.replicas.map(\.knownRules) == [2, 2])
            try replicas.sites[0].awaitMetric("latchkey_cluster_rules", 2)
            #expect(one.replicas.map(\.id) == other.replicas.map(\.id))
            #expect(one.replicas.map(\.isThis) == other.replicas.map { !$0.isThis })
            #expect(one.replicas.allSatisfy { $0.url == "http://127.0.0.1:7" })
            // The record of a replica that is gone stays, and grows old.
            replicas.end(1)
            try eventually("the note of the other one grows old") {
                try known(0).replicas.contains { !$0.isThis && $0.noteSeconds > 6 }
            }
        }
    }

    @Test func `members of etcd are replaced under load, and no acknowledged write is lost`()
        async throws
    {
        try await offPool {
            let replicas = try ReplicaSet(members: 3)
            let sites = replicas.sites
            // The values that were acknowledged last, of properties that one writer each has.
            let acknowledged = Guarded<[[Int]]>(Array(repeating: [], count: 6))
            let isOver = Guarded(false)
            let writers = (0..<6).map { writer in
                TestThread {
                    let site = sites[writer % 3]
                    var number = 0
                    while !isOver.read({ $0 }) {
                        number += 1
                        let path = "/v1/properties/w\(writer)-\(number)"
                        let status = try? site.ask("PUT", path, "\(number)").status
                        if status == 201 { acknowledged.write { $0[writer].append(number) } }
                    }
                }
            }
            let leader = try replicas.etcd.leader()
            for member in [leader, (leader + 1) % 3] {
                let before = acknowledged.read { $0 }.map(\.count)
                try replicas.etcd.replace(member)
                try eventually("all write on") {
                    zip(acknowledged.read { $0 }, before).allSatisfy { $0.count > $1 + 5 }
                }
            }
            isOver.write { $0 = true }
            for writer in writers { #expect(writer.join()) }
            let state = try replicas.awaitSame()
            for (writer, numbers) in acknowledged.read({ $0 }).enumerated() {
                for number in numbers {
                    #expect(state.contains("\"w\(writer)-\(number)\""), "\(writer) \(number)")
                }
            }
            for site in sites { #expect(try site.ask("GET", "/readyz").status == 200) }
            #expect(replicas.endAll())
        }
    }
}
