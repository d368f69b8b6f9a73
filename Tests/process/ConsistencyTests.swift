import Foundation
import LatchkeyTestSupport
import Testing

/// Reads that wait: `consistency` and `min-revision`.
@Suite(.timeLimit(.minutes(15)))
struct ConsistencyTests {
    private static let readers = [
        "/v1/properties/a", "/v1/properties", "/v1/properties?name=a", "/v1/count", "/v1/changes",
        "/v1/properties/a?after=0&wait=1", "/v1/export",
    ]

    private static func target(_ path: String, _ query: String) -> String {
        path + (path.contains("?") ? "&" : "?") + query
    }

    private static func put(_ number: Int, at client: HTTPClient) throws -> HTTPAnswer {
        try client.request("PUT", "/v1/properties/a", body: Array("\(number)".utf8))
    }

    @Test func `a replica that follows has the revisions that are asked for, and no more`()
        async throws
    {
        try await offPool {
            let pair = try Replication()
            let leader = try pair.source.client()
            let copy = try pair.copy.client()
            for number in 0..<200 {
                let put = try Self.put(number, at: leader)
                let revision = try #require(put.revision)
                let path = number % 2 == 0 ? "/v1/properties/a" : "/v1/properties"
                let read = try copy.request("GET", "\(path)?min-revision=\(revision)")
                #expect(read.text.contains(number % 2 == 0 ? "\(number)" : #""value":\#(number)"#))
                let age = try #require(read.headers["latchkey-age"].flatMap { Double($0) })
                #expect(age >= 0)
            }
            for path in Self.readers {
                let answer = try copy.request(
                    "GET",
                    Self.target(path, "consistency=linearizable")
                )
                #expect(answer.status == 421 && answer.problem == "not-leader", "\(path)")
                #expect(answer.headers["latchkey-leader"] == "http://127.0.0.1:\(pair.source.port)")
                let local = Self.target(path, "consistency=local")
                #expect(try copy.request("GET", local).status == 200)
            }
            try pair.awaitLevel()
            let revision = try #require(try leader.request("GET", "/v1/properties/a").revision)
            for path in ["/v1/properties/a", "/v1/properties", "/v1/count", "/v1/export"] {
                let answer = try copy.request("GET", path)
                #expect(answer.headers["latchkey-revision"] == "\(revision)", "\(path)")
            }
            pair.leader.signal(SIGSTOP)
            let late = try copy.request("GET", "/v1/properties/a?min-revision=\(revision + 1)")
            #expect(late.problem == "not-level")
            #expect(try pair.copy.ask("POST", "/v1/promote").status == 200)
            let own = try pair.copy.ask("GET", "/v1/properties/a?consistency=linearizable")
            #expect(own.status == 200 && own.headers["latchkey-revision"] == nil)
            #expect(pair.replica.end() == 0)
        }
    }

    @Test func `a replica that was stopped answers with what was written meanwhile`()
        async throws
    {
        try await offPool {
            let cluster = try ReplicaSet()
            let writer = try cluster.sites[0].client()
            let reader = try cluster.sites[1].client()
            for number in 0..<20 {
                cluster.programs[1].signal(SIGSTOP)
                let put = try Self.put(number, at: writer)
                let revision = try #require(put.revision)
                let query =
                    number % 2 == 0 ? "consistency=linearizable" : "min-revision=\(revision)"
                try reader.send("GET /v1/properties/a?\(query) HTTP/1.1\r\nHost: localhost\r\n\r\n")
                cluster.programs[1].signal(SIGCONT)
                let read = try reader.answer()
                #expect(read.text == "\(number)" && read.revision == revision, "\(query)")
            }
            #expect(cluster.endAll())
        }
    }

    @Test func `without a quorum a linearizable read is refused, and others are not`()
        async throws
    {
        try await offPool {
            let cluster = try ReplicaSet()
            let client = try cluster.sites[0].client()
            #expect(try Self.put(1, at: client).status == 201)
            cluster.etcd.signal(0, SIGSTOP)
            for _ in 0..<3 {
                let read = try client.request("GET", "/v1/properties/a?consistency=linearizable")
                #expect(read.status == 503 && read.problem == "not-level", "\(read)")
                #expect(read.headers["retry-after"] == "1")
                #expect(try client.request("GET", "/v1/properties/a").text == "1")
            }
            cluster.etcd.signal(0, SIGCONT)
            try eventually("etcd answers again") {
                try client.request("GET", "/v1/properties/a?consistency=linearizable").text == "1"
            }
            #expect(cluster.endAll())
        }
    }
}
