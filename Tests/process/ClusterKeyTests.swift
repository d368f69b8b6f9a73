import Foundation
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// A change with a key.
private struct Keyed: Sendable {
    let key: String
    private let method: String
    private let target: String
    private let body: String?
    private let fields: [String]

    init(
        _ key: String,
        _ method: String,
        _ target: String,
        _ body: String? = nil,
        fields: [String] = []
    ) {
        (self.key, self.method, self.target, self.body) = (key, method, target, body)
        self.fields = fields + ["Idempotency-Key: \(key)"]
    }

    func ask(_ site: Site) throws -> HTTPAnswer {
        try site.ask(method, target, body, headers: fields)
    }
}

/// An answer, as far as a repeat has to be the same.
private struct Shown: Equatable {
    let status: Int
    let body: String
    let fields: [String?]

    init(_ answer: HTTPAnswer) {
        status = answer.status
        body = answer.said
        fields = ["etag", "latchkey-created", "latchkey-ttl", "content-type", "cache-control"]
            .map { answer.headers[$0] }
    }
}

/// `Idempotency-Key` in a cluster: a request is made once, whichever replica it is sent to.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct ClusterKeyTests {
    private static let transaction = """
        {"if":[{"name":"a","exists":true}],"then":[{"get":"a"},{"increment":"n","by":5,"ttl":500},\
        {"put":"b","value":[1, 2]},{"pop":"q/"},{"count":"q/"}]}
        """

    /// Changes of all kinds, in this order: each one has an effect of its own if it is made again.
    private static let changes = [
        Keyed("put", "PUT", "/v1/properties/a", "{\"x\":1}"),
        Keyed("put2", "PUT", "/v1/properties/q%2F1?ttl=600", "\"job\""),
        Keyed("add", "POST", "/v1/properties/n/increment"),
        Keyed("ttl", "POST", "/v1/properties/m/increment?ttl=300"),
        Keyed(
            "merge",
            "PATCH",
            "/v1/properties/a",
            "{\"y\":[true]}",
            fields: ["Content-Type: application/merge-patch+json"]
        ),
        Keyed("touch", "POST", "/v1/properties/m/touch?ttl=900"),
        Keyed("txn", "POST", "/v1/transactions", transaction),
        Keyed("delete", "DELETE", "/v1/properties/b"),
        // Without effect: 412, 404, 409, an answer of a read, and a pop that finds nothing.
        Keyed("new", "PUT", "/v1/properties/a", "9", fields: ["If-None-Match: *"]),
        Keyed("gone", "DELETE", "/v1/properties/b"),
        Keyed("object", "POST", "/v1/properties/a/increment"),
        Keyed(
            "read",
            "POST",
            "/v1/transactions",
            #"{"if":[{"name":"b","exists":true}],"else":[{"get":"n"}]}"#
        ),
        Keyed("pop", "POST", "/v1/pop?prefix=q/"),
    ]

    /// Repeats all changes at a replica: the answers are the first ones, and nothing is done.
    private func repeatAll(_ site: Site, _ first: [Shown], _ comment: Comment) throws {
        for (change, shown) in zip(Self.changes, first) {
            let again = try change.ask(site)
            #expect(Shown(again) == shown, "\(comment) \(change.key)")
            #expect(again.headers["idempotency-replayed"] == "true", "\(comment) \(change.key)")
        }
    }

    @Test func `a repeat at another replica gets the first answer, also after kills and restarts`()
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
            // The state that led to the refusals and reads has changed.
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
            let last = Keyed("last", "DELETE", "/v1/properties/last")
            #expect(try last.ask(cluster.sites[2]).status == 404)
            try cluster.awaitSame()
            for index in 0..<3 { cluster.end(index, SIGTERM) }
            for index in 0..<3 {
                try cluster.start(index, cluster.offer(index))
            }
            // One of them has the keys from the one that it is seeded by.
            cluster.end(1, SIGTERM)
            try cluster.forget()
            try cluster.removeData(1)
            try cluster.start(1)
            for index in 0..<3 { try self.repeatAll(cluster.sites[index], first, "again \(index)") }
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

    @Test func `a transaction that waits is kept when it is made, and not before`() async throws {
        try await offPool {
            let cluster = try ReplicaSet()
            let wait = Keyed("k", "POST", "/v1/pop?prefix=q/&wait=20")
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
}
