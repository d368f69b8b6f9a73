import Foundation
import LatchkeyTestSupport
import Testing

/// Replicas and members of etcd that were away, or come back with an earlier state.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct ClusterLagTests {
    private static func write(_ replicas: ReplicaSet, at index: Int, _ numbers: Range<Int>) throws {
        let client = try replicas.sites[index].client()
        for number in numbers {
            let answer = try client.request(
                "PUT",
                "/v1/properties/p\(number % 40)",
                headers: ["Content-Type: application/json"],
                body: Array("\(number)".utf8)
            )
            #expect(answer.status < 300, "\(number): \(answer.text)")
        }
    }

    private static func awaitState(_ word: String, _ site: Site) throws {
        try eventually("\(word)") {
            let answer = try site.ask("GET", "/readyz?verbose")
            return answer.status == 503 && answer.text.contains("test: \(word).")
        }
    }

    @Test func `a replica that was stopped catches up, or says that it is too late`()
        async throws
    {
        try await offPool {
            let replicas = try ReplicaSet()
            try Self.write(replicas, at: 0, 0..<100)
            try replicas.restart(0, replicas.offer(0))
            replicas.programs[2].signal(SIGSTOP)
            try Self.write(replicas, at: 0, 100..<600)
            replicas.programs[2].signal(SIGCONT)
            try replicas.awaitSame()
            try ReplicaSet.awaitReady(replicas.sites[2])

            // Now the log forgets what it needs: an operator has done that, or an hour has gone.
            replicas.programs[2].signal(SIGSTOP)
            // Longer than etcd keeps for the connection, so that it must ask again.
            let long = "\"\(String(repeating: "x", count: 500_000))\""
            for number in 0..<60 {
                #expect(try replicas.sites[0].ask("PUT", "/v1/properties/l", long).status < 300)
                try Self.write(replicas, at: 1, number..<number + 2)
            }
            try replicas.forget()
            replicas.programs[2].signal(SIGCONT)
            let late = replicas.sites[2]
            try Self.awaitState("too-late", late)
            #expect(try late.ask("GET", "/readyz?verbose").text.contains("Move its data away"))
            // It takes no changes, and says how old its state is.
            for answer in [
                try late.ask("PUT", "/v1/properties/p1", "0"),
                try late.ask("GET", "/v1/count?consistency=linearizable"),
                try late.ask("GET", "/v1/count?min-revision=\(1 << 61)"),
            ] {
                #expect(answer.status == 503 && answer.headers["retry-after"] == nil)
                #expect(answer.text.contains("Send the request to another replica."))
                #expect(!answer.text.contains("Try again"), "\(answer.text)")
            }
            #expect(try late.ask("GET", "/v1/count").headers["latchkey-age"] != nil)
            try Self.write(replicas, at: 0, 0..<40)
            // It says so at a start, too.
            replicas.end(2, SIGTERM)
            let again = try replicas.refused(2, [])
            #expect(again.status != 0 && again.errors.contains("Move its data away"), "\(again)")
            // The log is not kept for it.
            #expect(try replicas.records().count == 2)
            try replicas.removeData(2)
            try replicas.start(2)
            try replicas.awaitSame()
            #expect(replicas.endAll())
        }
    }

    @Test func `an etcd of an earlier time is refused, also when its log has grown again`()
        async throws
    {
        try await offPool {
            let replicas = try ReplicaSet(members: 3)
            try Self.write(replicas, at: 0, 0..<50)
            try replicas.awaitSame()
            replicas.etcd.stopAll()
            try replicas.etcd.copyData()
            try replicas.etcd.startAll()
            for site in replicas.sites { try ReplicaSet.awaitReady(site) }
            try Self.write(replicas, at: 1, 50..<150)
            let state = try replicas.awaitSame()
            let last = try replicas.sites[1].ask("GET", "/v1/properties/p29")
            // Another one had the state of the time of the copy.
            replicas.end(2, SIGTERM)
            replicas.etcd.stopAll()
            try replicas.etcd.copyData(back: true)
            try replicas.etcd.startAll()
            for site in replicas.sites[..<2] {
                try Self.awaitState("diverged", site)
                #expect(try site.ask("PUT", "/v1/properties/a", "1").status == 503)
                #expect(try site.ask("GET", "/v1/count?consistency=linearizable").status == 503)
                // Their state is still right, and is needed for a new cluster.
                #expect(try ReplicaSet.state(site) == state)
            }
            try eventually("the log is not kept for them") {
                try replicas.records().count { $0.contains("\"needsLog\":false") } == 2
            }
            // A new replica makes the log longer than it was.
            replicas.end(0, SIGTERM)
            try replicas.removeData(2)
            try replicas.start(2)
            // No revision is given again: a tag of the former life fits nothing.
            let written = try replicas.sites[2].ask("PUT", "/v1/properties/p29", "0")
            let (former, later) = (try #require(last.revision), try #require(written.revision))
            #expect(later > former + 1 << 32)
            try Self.write(replicas, at: 2, 0..<200)
            let condition = "If-Match: \(try #require(last.headers["etag"]))"
            let late = try replicas.sites[2]
                .ask("PUT", "/v1/properties/p29", "1", headers: [condition])
            #expect(late.status == 412)
            let result = try replicas.refused(0, [])
            #expect(result.status != 0)
            #expect(result.errors.contains("has another entry at place"), "\(result.errors)")
            #expect(replicas.programs[1].end() == 0 && replicas.programs[2].end() == 0)
        }
    }

    @Test func `a start that ends without a state leaves no record`() async throws {
        try await offPool {
            let replicas = try ReplicaSet(strategies: ["lock"])
            try Self.write(replicas, at: 0, 0..<20)
            try replicas.offerState()
            // It has published its address, and does not answer.
            replicas.end(0)
            _ = try replicas.addUnready()
            try eventually("the log is held for the new one") {
                try replicas.records().contains { $0.contains("seeding") }
            }
            replicas.end(1, SIGTERM)
            let records = try replicas.records()
            #expect(records.count == 1 && !records[0].contains("seeding"), "\(records)")
        }
    }

    @Test func `a replica goes on from its own backup`() async throws {
        try await offPool {
            let replicas = try ReplicaSet()
            try Self.write(replicas, at: 0, 0..<50)
            let folder = try TemporaryFolder()
            let file = "\(folder.path)/state.backup"
            let backup = try Program(["backup", replicas.data(2), file]).finish()
            #expect(backup.status == 0, "\(backup.errors)")
            try Self.write(replicas, at: 2, 50..<100)
            replicas.end(2)
            try Self.write(replicas, at: 1, 100..<150)
            try replicas.removeData(2)
            try FileManager.default.createDirectory(
                atPath: replicas.data(2),
                withIntermediateDirectories: true
            )
            try FileManager.default.moveItem(
                atPath: file,
                toPath: "\(replicas.data(2))/latchkey.db"
            )
            try replicas.start(2)
            try Self.write(replicas, at: 2, 150..<160)
            try replicas.awaitSame()
            #expect(replicas.endAll())
        }
    }
}
