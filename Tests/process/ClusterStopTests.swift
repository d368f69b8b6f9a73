import Foundation
import LatchkeyTestSupport
import Testing

/// Replicas that must not serve: one without a state, and one with a wrong one.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct ClusterStopTests {
    @Test func `a new replica waits for a state, and says what to do if there is none`()
        async throws
    {
        try await offPool {
            // No service is at the address that it has published.
            let replicas = try ReplicaSet(strategies: ["lock"])
            try replicas.restart(0, ["--cluster-url", "http://127.0.0.1:7"])
            for name in ["a", "b"] {
                let target = "/v1/properties/\(name)"
                #expect(try replicas.sites[0].ask("PUT", target, "1").status == 201)
            }
            try replicas.forget(address: ":7\"")
            let port = try replicas.addUnready()
            try eventually("it says that no replica gives its state") {
                // It does not listen at once.
                guard let answer = try? Site(port: port).ask("GET", "/readyz?verbose") else {
                    return false
                }
                return answer.status == 503 && answer.text.contains("test: seeding.")
                    && answer.text.contains("no replica gives its state")
                    && answer.text.contains("restore a backup")
            }
            // The next start finds no empty database that it would go on with.
            replicas.end(1)
            #expect(!FileManager.default.fileExists(atPath: "\(replicas.data(1))/latchkey.db"))
            try replicas.restart(0, replicas.offer(0))
            try replicas.start(1)
            try replicas.awaitSame()
            #expect(replicas.endAll())
        }
    }

    @Test func `a start says which file or address is wrong, and that a service changed the data`()
        async throws
    {
        try await offPool {
            let replicas = try ReplicaSet(strategies: ["lock"])
            #expect(try replicas.sites[0].ask("PUT", "/v1/properties/a", "1").status == 201)
            replicas.end(0, SIGTERM)
            let token = try replicas.refused(0, ["--peer-token-from", "nofile"])
            #expect(token.status == 1, "\(token)")
            #expect(token.errors.contains("--peer-token-from: nofile cannot be read"))
            let alone = try Program(["serve", "--port", "0", "--data", replicas.data(0)])
            let site = Site(port: try alone.awaitPort())
            #expect(try site.ask("PUT", "/v1/properties/a", "2").status == 204)
            #expect(alone.end() == 0)
            let changed = try replicas.refused(0, [])
            #expect(changed.status == 1, "\(changed)")
            #expect(changed.errors.contains("a service without --cluster has changed it"))
            let mixed = try Program(
                [
                    "serve", "--port", "0", "--data", replicas.data(1), "--cluster",
                    "http://127.0.0.1:1,https://127.0.0.1:2",
                ]
            ).finish()
            #expect(mixed.status == 1, "\(mixed)")
            #expect(mixed.errors.contains("https:// for all members, or for none"))
        }
    }

    @Test func `a replica whose state is not that of the others shows it to no client`()
        async throws
    {
        try await offPool {
            let replicas = try ReplicaSet(strategies: ["lock"])
            let site = replicas.sites[0]
            #expect(try site.ask("PUT", "/v1/properties/a", "1").status == 201)
            func place() throws -> UInt64 {
                let text = try replicas.metric("latchkey_cluster_log_place", at: 0)
                return try #require(text.flatMap { UInt64($0) })
            }
            let first = try place()
            try replicas.insertEntry(writer: 1, sequence: 1, asksForMark: true)
            try eventually("the entry is executed") { try place() > first }
            let mark = (place: try place(), hash: UInt8(1))
            // A replica that differs from two others is wrong.
            try replicas.insertEntry(writer: 1, sequence: 2, mark: mark)
            try replicas.insertEntry(writer: 2, sequence: 1, mark: mark)
            try eventually("it has stopped") {
                try site.ask("GET", "/readyz?verbose").text.contains("test: diverged.")
            }
            let paths = [
                "/v1/properties/a", "/v1/properties", "/v1/export", "/v1/watch", "/v1/count",
                "/v1/changes", "/v1/backup",
            ]
            for path in paths {
                #expect(try site.ask("GET", path).problem == "not-level", "\(path)")
            }
            #expect(try site.ask("PUT", "/v1/properties/a", "1").status == 503)
            // It stays so.
            #expect(replicas.endAll())
            let again = try replicas.refused(0, [])
            #expect(again.status == 1 && again.errors.contains("not that of the other replicas"))
        }
    }
}
