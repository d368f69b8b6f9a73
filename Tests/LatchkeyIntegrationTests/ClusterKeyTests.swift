import Foundation
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// A change with a key.
private struct Keyed: Sendable {
    let key: String
    let method: String
    let target: String
    var body: String?
    var fields: [String] = []

    func ask(_ site: Site, body other: String? = nil) throws -> HTTPAnswer {
        let fields = fields + ["Idempotency-Key: \(key)"]
        return try site.ask(method, target, other ?? body, headers: fields)
    }
}

/// An answer, as far as a repeat has to be the same.
private struct Shown: Equatable {
    let status: Int
    let body: String
    let fields: [String?]

    init(_ answer: HTTPAnswer) {
        status = answer.status
        body = answer.text
        fields = ["etag", "latchkey-created", "latchkey-ttl", "content-type", "cache-control"]
            .map { answer.headers[$0] }
    }
}

/// `Idempotency-Key` in a cluster: a request is made once, whichever replica it is sent to.
@Suite(.timeLimit(.minutes(4)), .serialized)
struct ClusterKeyTests {
    private static let transaction = """
        {"if":[{"name":"a","exists":true}],"then":[{"get":"a"},{"increment":"n","by":5,"ttl":500},\
        {"put":"b","value":[1, 2]},{"pop":"q/"},{"count":"q/"}]}
        """

    /// Changes of all kinds, in this order: each one has an effect of its own if it is made again.
    private static let changes = [
        Keyed(key: "put", method: "PUT", target: "/v1/properties/a", body: "{\"x\":1}"),
        Keyed(key: "put2", method: "PUT", target: "/v1/properties/q%2F1?ttl=600", body: "\"job\""),
        Keyed(key: "add", method: "POST", target: "/v1/properties/n/increment"),
        Keyed(key: "ttl", method: "POST", target: "/v1/properties/m/increment?ttl=300"),
        Keyed(
            key: "merge",
            method: "PATCH",
            target: "/v1/properties/a",
            body: "{\"y\":[true]}",
            fields: ["Content-Type: application/merge-patch+json"]
        ),
        Keyed(key: "touch", method: "POST", target: "/v1/properties/m/touch?ttl=900"),
        Keyed(
            key: "txn",
            method: "POST",
            target: "/v1/transactions",
            body: transaction,
            fields: ["Content-Type: application/json"]
        ),
        Keyed(key: "delete", method: "DELETE", target: "/v1/properties/b"),
        // Without effect: 412, 404, 409, an answer of a read, and a pop that finds nothing.
        Keyed(
            key: "new",
            method: "PUT",
            target: "/v1/properties/a",
            body: "9",
            fields: ["If-None-Match: *"]
        ),
        Keyed(key: "gone", method: "DELETE", target: "/v1/properties/b"),
        Keyed(key: "object", method: "POST", target: "/v1/properties/a/increment"),
        Keyed(
            key: "read",
            method: "POST",
            target: "/v1/transactions",
            body: #"{"if":[{"name":"b","exists":true}],"else":[{"get":"n"}]}"#,
            fields: ["Content-Type: application/json"]
        ),
        Keyed(key: "pop", method: "POST", target: "/v1/pop?prefix=q/"),
    ]

    /// Repeats all changes at a replica: the answers are the first ones, and nothing is done.
    private func repeatAll(_ site: Site, _ first: [Shown], _ comment: Comment) throws {
        for (change, shown) in zip(Self.changes, first) {
            let again = try change.ask(site)
            #expect(Shown(again) == shown, "\(comment) \(change.key)")
            #expect(again.headers["idempotency-replayed"] == "true", "\(comment) \(change.key)")
        }
    }

    @Test func `a repeat at another replica gets the first answer, also behind kills and restarts`()
        async throws
    {
        try await offPool {
            let cluster = try ReplicaSet()
            var first: [Shown] = []
            for change in Self.changes {
                let answer = try change.ask(cluster.sites[0])
                #expect(answer.headers["idempotency-replayed"] == nil)
                first.append(Shown(answer))
            }
            #expect(
                first.map(\.status)
                    == [201, 201, 200, 200, 200, 204, 200, 204, 412, 404, 409, 200, 404]
            )
            try cluster.awaitSame()
            // What made the refusals and the reads so is not so any more.
            let others = [
                ("PUT", "/v1/properties/b", "1"), ("PUT", "/v1/properties/q%2F2", "2"),
                ("DELETE", "/v1/properties/a", nil), ("DELETE", "/v1/properties/b", nil),
                ("PUT", "/v1/properties/b", "3"),
            ]
            for (method, target, body) in others {
                #expect(try cluster.sites[2].ask(method, target, body).status < 300)
            }
            let state = try cluster.awaitSame()
            for index in 0..<3 { try self.repeatAll(cluster.sites[index], first, "live \(index)") }
            cluster.end(0)
            for index in 1..<3 {
                try self.repeatAll(cluster.sites[index], first, "killed \(index)")
            }
            try cluster.start(0)
            try self.repeatAll(cluster.sites[0], first, "back")
            // No commit stores this one before the end.
            let last = Keyed(key: "last", method: "DELETE", target: "/v1/properties/last")
            #expect(try last.ask(cluster.sites[2]).status == 404)
            try cluster.awaitSame()
            for index in 0..<3 { cluster.end(index, SIGTERM) }
            for index in 0..<3 {
                let url = "http://127.0.0.1:\(cluster.sites[index].port)"
                try cluster.start(index, ["--cluster-url", url])
            }
            // One of them has the keys from the one that it is seeded by.
            cluster.end(1, SIGTERM)
            try cluster.forget()
            try cluster.removeData(1)
            try cluster.start(1)
            for index in 0..<3 { try self.repeatAll(cluster.sites[index], first, "anew \(index)") }
            for site in cluster.sites { #expect(try ReplicaSet.state(site) == state) }
            #expect(try cluster.sites[0].ask("PUT", "/v1/properties/last", "1").status == 201)
            for index in 0..<3 {
                let again = try last.ask(cluster.sites[index])
                #expect(again.status == 404 && again.headers["idempotency-replayed"] == "true")
            }
            try cluster.awaitSame()
            for index in 0..<3 {
                #expect(try cluster.sites[index].ask("GET", "/v1/properties/last").text == "1")
            }
        }
    }

    @Test func `repeats at three replicas at once are made once`() async throws {
        try await offPool {
            let cluster = try ReplicaSet()
            let answers = Synchronized<[Int: [String]], LockStrategy>([:])
            let sites = cluster.sites
            let ended = TestThread.run(3) { replica in
                guard let client = try? sites[replica].client() else { return }
                for number in 0..<50 {
                    let answer = try? client.request(
                        "POST",
                        "/v1/properties/n/increment",
                        headers: ["Idempotency-Key: k\(number)"]
                    )
                    let text = answer.map { "\($0.status) \($0.text) \($0.headers["etag"] ?? "")" }
                    answers.write { $0[number, default: []].append(text ?? "none") }
                }
            }
            #expect(ended)
            let all = answers.read { $0 }
            #expect(all.values.allSatisfy { $0.count == 3 && Set($0).count == 1 }, "\(all)")
            #expect(Set(all.values.joined()).count == 50)
            try cluster.awaitSame()
            for site in cluster.sites {
                #expect(try site.ask("GET", "/v1/properties/n").text == "50")
            }
        }
    }

    @Test func `another request with the key is refused, and does not take the key`() async throws {
        try await offPool {
            let cluster = try ReplicaSet()
            let put = Keyed(key: "k", method: "PUT", target: "/v1/properties/a", body: "1")
            let first = try put.ask(cluster.sites[0])
            #expect(first.status == 201)
            for _ in 0..<2 {
                let other = try put.ask(cluster.sites[1], body: "2")
                #expect(other.status == 422 && other.problem == "idempotency-key-reused")
            }
            let again = try put.ask(cluster.sites[1])
            #expect(Shown(again) == Shown(first))
            #expect(try cluster.sites[1].ask("GET", "/v1/properties/a").text == "1")
        }
    }

    @Test func `a transaction that waits is kept when it is made, and not before`() async throws {
        try await offPool {
            let cluster = try ReplicaSet()
            let wait = Keyed(key: "k", method: "POST", target: "/v1/pop?prefix=q/&wait=20")
            let answers = Synchronized<[HTTPAnswer], LockStrategy>([])
            let sites = cluster.sites
            let threads = (0..<2).map { replica in
                TestThread {
                    if let answer = try? wait.ask(sites[replica]) {
                        answers.write { $0.append(answer) }
                    }
                }
            }
            for site in sites.prefix(2) { try site.awaitMetric("latchkey_watchers", 1) }
            for number in 1...2 {
                _ = try sites[2].ask("PUT", "/v1/properties/q%2F\(number)", "\(number)")
            }
            for thread in threads { #expect(thread.join()) }
            let both = answers.read { $0 }
            #expect(both.count == 2 && both.allSatisfy { $0.status == 200 })
            #expect(Set(both.map(\.text)).count == 1)
            #expect(both.count { $0.headers["idempotency-replayed"] == "true" } == 1)
            try cluster.awaitSame()
            #expect(try sites[2].ask("GET", "/v1/count?prefix=q/").text.contains("\"count\":1"))
        }
    }

    @Test func `at the bound all replicas refuse a new key, and stay the same`() async throws {
        try await offPool {
            let cluster = try ReplicaSet(
                flags: ["--idempotency-seconds", "3", "--client-share", "1/1"],
                limits: "max-idempotency-keys=4"
            )
            func add(_ key: String, _ replica: Int) throws -> HTTPAnswer {
                try Keyed(key: key, method: "POST", target: "/v1/properties/n/increment")
                    .ask(cluster.sites[replica])
            }
            for number in 0..<4 { #expect(try add("k\(number)", number % 3).status == 200) }
            for replica in 0..<3 {
                let answer = try add("new", replica)
                #expect(answer.status == 503 && answer.problem == "too-many-idempotency-keys")
                #expect(try add("k1", replica).text == "2")
            }
            try eventually("the keys are over") {
                try add("new", 1).status == 200
            }
            #expect(try add("new", 2).text == "5")
            try cluster.awaitSame()
        }
    }
}
