import Foundation
import LatchkeyTestSupport
import Testing

/// `--follow`: before the first state, and with much of it.
@Suite(.timeLimit(.minutes(15)))
struct FollowSizeTests {
    @Test func `a replica answers 503 until it has the first state`() async throws {
        try await offPool {
            let leader = try Program(Replication.quiet + ["0"])
            let source = Site(port: try leader.awaitPort())
            #expect(try source.ask("PUT", "/v1/properties/a", "1").status == 201)
            let former = try Program(Replication.quiet + ["0"])
            let copy = Site(port: try former.awaitPort())
            #expect(former.end() == 0)
            // It is connected to, and does not answer.
            leader.signal(SIGSTOP)
            let replica = try Program(
                Replication.quiet
                    + ["\(copy.port)", "--follow", "http://127.0.0.1:\(source.port)"]
            )
            try eventually("the replica listens") {
                (try? copy.ask("GET", "/healthz").status) == 200
            }
            let ready = try copy.ask("GET", "/readyz?verbose")
            #expect(ready.status == 503 && ready.text.contains("connecting"))
            for (method, path) in [
                ("GET", "/v1/properties/a"), ("PUT", "/v1/properties/a"), ("GET", "/v1/changes"),
                ("GET", "/v1/watch"), ("POST", "/v1/promote"), ("GET", "/v1/cluster"),
            ] {
                let answer = try copy.ask(method, path, method == "PUT" ? "2" : nil)
                #expect(answer.status == 503 && answer.problem == "recovering", "\(path)")
                #expect(answer.headers["retry-after"] != nil)
            }
            leader.signal(SIGCONT)
            #expect(try replica.awaitPort() == copy.port)
            #expect(try copy.ask("GET", "/v1/properties/a").text == "1")
            #expect(try copy.ask("GET", "/readyz").status == 200)
            #expect(replica.end() == 0 && leader.end() == 0)
        }
    }

    @Test func `properties that the leader evicts are evicted, and no others`() async throws {
        try await offPool {
            let pair = try Replication(leader: ["--max-properties", "3", "--eviction", "lru"])
            for name in ["a", "b", "c", "d", "e"] {
                #expect(try pair.source.ask("PUT", "/v1/properties/\(name)", "1").status == 201)
            }
            try pair.awaitLevel()
            #expect(try Replication.state(pair.copy).count == 4)
            let (one, other) = (
                try pair.source.ask("GET", "/v1/changes").text,
                try pair.copy.ask("GET", "/v1/changes").text
            )
            #expect(one == other && one.split(separator: #""evicted""#).count == 3)
            #expect(pair.replica.end() == 0 && pair.leader.end() == 0)
        }
    }

    @Test func `properties of 1 MB arrive by changes and by an export`() async throws {
        try await offPool {
            let pair = try Replication()
            let half = String(repeating: "x", count: 500_000)
            // An export has those with line breaks as strings, which are longer.
            for (name, value) in [
                ("a", "\"\(half)\(half)\""), ("b", "[\"\(half)\",\n \"\(half)\"]"),
                ("c", "[" + String(repeating: "1,\n", count: 333_000) + "1]"),
            ] {
                let put = try pair.source.ask("PUT", "/v1/properties/\(name)", value)
                #expect(put.status == 201)
            }
            try pair.awaitLevel()
            let changed = try Replication.state(pair.copy)
            try pair.restartReplica()
            #expect(try Replication.state(pair.copy) == changed)
            #expect(pair.replica.end() == 0 && pair.leader.end() == 0)
        }
    }
}
