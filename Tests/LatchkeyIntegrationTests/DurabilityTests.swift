import Foundation
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import latchkey

/// A service that keeps its data, killed and started again: the real process and real files.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct DurabilityTests {
    static let kinds: [StrategyKind] = [.lock, .barrierQueueAsync, .snapshot, .actor]
    static let modes = [["--http-threads", "2"], ["--thread-per-connection"]]

    /// A service on a folder.
    private static func start(
        _ folder: TemporaryFolder,
        _ kind: StrategyKind = .lock,
        _ flags: [String] = [],
        limits: String? = nil
    ) throws -> (program: Program, site: Site) {
        let program = try Program(
            [
                "serve", "--port", "0", "--log-level", "warning", "--data", folder.path + "/data",
                "--strategy", kind.rawValue,
            ] + flags,
            limits: limits
        )
        return (program, Site(port: try program.awaitPort()))
    }

    /// The state, without the time that is left to properties that expire.
    private static func export(_ site: Site) throws -> String {
        try site.ask("GET", "/v1/export").text
            .replacing(/"ttl":[0-9.]+/, with: #""ttl":0"#)
    }

    private static func kill(_ program: Program) {
        program.signal(SIGKILL)
        _ = program.wait()
    }

    @Test func `a time to live that began anew outlives kill -9`() async throws {
        try await offPool {
            let folder = try TemporaryFolder()
            let flags = ["serve", "--port", "0", "--data", folder.path + "/data"]
            let program = try Program(flags)
            let site = Site(port: try program.awaitPort())
            let tag = try site.ask("PUT", "/v1/properties/a?ttl=60", "1").headers["etag"]
            #expect(try site.ask("POST", "/v1/properties/a/touch?ttl=6000").status == 204)
            #expect(try site.ask("PUT", "/v1/properties/b", "1").headers["etag"] == #""3""#)
            Self.kill(program)
            let again = try Program(flags)
            let second = Site(port: try again.awaitPort())
            let answer = try second.ask("GET", "/v1/properties/a")
            #expect(answer.headers["etag"] == tag)
            #expect(Double(answer.headers["latchkey-ttl"] ?? "") ?? 0 > 5000)
            let put = try second.ask(
                "PUT",
                "/v1/properties/a",
                "2",
                headers: ["If-Match: \(tag ?? "")"]
            )
            #expect(put.headers["etag"] == #""4""#)
            #expect(again.end() == 0)
        }
    }

    @Test(arguments: kinds, modes)
    func `what was acknowledged is there after kill -9`(
        kind: StrategyKind,
        mode: [String]
    ) async throws {
        try await offPool {
            let folder = try TemporaryFolder()
            var (program, site) = try Self.start(folder, kind, mode)
            #expect(try site.ask("PUT", "/v1/properties/a", "[1, 2]").status == 201)
            #expect(try site.ask("PUT", "/v1/properties/a", "[3]").headers["etag"] == "\"2\"")
            #expect(try site.ask("PUT", "/v1/properties/gone", "1").status == 201)
            #expect(try site.ask("DELETE", "/v1/properties/gone").status == 204)
            #expect(try site.ask("PUT", "/v1/properties/mortal?ttl=1000", "2").status == 201)
            let steps = #"{"then":[{"increment":"n","by":7},{"put":"b","value":"x"}]}"#
            #expect(try site.ask("POST", "/v1/transactions", steps).status == 200)
            let before = try Self.export(site)
            let watched = try EventStreamClient(port: site.port, "/v1/watch?after=1")
            let seen = try (0..<2).map { _ in try #require(try watched.next()) }
            Self.kill(program)

            (program, site) = try Self.start(folder, kind, mode)
            #expect(try Self.export(site) == before)
            let a = try site.ask("GET", "/v1/properties/a")
            #expect(a.text == "[3]" && a.headers["etag"] == "\"2\"")
            #expect(a.headers["latchkey-created"] == "1")
            #expect(try site.ask("GET", "/v1/properties/gone").status == 404)
            let left = try site.ask("GET", "/v1/properties/mortal").headers["latchkey-ttl"]
            #expect(left.flatMap { Double($0) }.map { $0 > 900 && $0 <= 1000 } == true)
            // The history: a watch resumes where it was, and past values are there.
            let resumed = try EventStreamClient(
                port: site.port,
                "/v1/watch",
                lastID: seen[0].id
            )
            #expect(try resumed.next()?.id == seen[1].id)
            #expect(try site.ask("GET", "/v1/properties/a?revision=1").text == "[1, 2]")
            #expect(try site.ask("PUT", "/v1/properties/c", "1").headers["etag"] == "\"7\"")
            let put = try site.ask("PUT", "/v1/properties/a", "4", headers: ["If-Match: \"2\""])
            #expect(put.status == 204)
            #expect(program.end() == 0)
        }
    }

    @Test(arguments: kinds)
    func `a repeat after kill -9 gets the first answer`(kind: StrategyKind) async throws {
        try await offPool {
            let folder = try TemporaryFolder()
            let requests: [(String, String, String?)] = [
                ("PUT", "/v1/properties/put", "1"), ("PUT", "/v1/properties/put", "2"),
                ("POST", "/v1/properties/n/increment", nil),
                ("PATCH", "/v1/properties/merged", #"{"a":1}"#),
                (
                    "POST", "/v1/transactions",
                    #"{"if":[{"name":"n","equals":1}],"then":[{"increment":"m"},{"get":"n"}]}"#
                ),
                ("DELETE", "/v1/properties/put", nil),
            ]
            func ask(_ site: Site) throws -> [HTTPAnswer] {
                try requests.enumerated().map { index, request in
                    let type =
                        request.0 == "PATCH"
                        ? ["Content-Type: application/merge-patch+json"] : []
                    return try site.ask(
                        request.0,
                        request.1,
                        request.2,
                        headers: ["Idempotency-Key: key-\(index)"] + type
                    )
                }
            }
            // What records the decision passes the answer on.
            func recording(_ life: Int) -> [String] {
                ["--record", folder.path + "/trace\(life)"]
            }
            let sample = "record-sample=1/1"
            var (program, site) = try Self.start(folder, kind, recording(1), limits: sample)
            let first = try ask(site)
            #expect(first.map(\.status) == [201, 204, 200, 200, 200, 204])
            Self.kill(program)
            (program, site) = try Self.start(folder, kind, recording(2), limits: sample)
            let again = try ask(site)
            for (one, other) in zip(first, again) {
                #expect(other.status == one.status && other.text == one.text)
                #expect(other.headers["etag"] == one.headers["etag"])
                #expect(other.headers["idempotency-replayed"] == "true")
            }
            #expect(try site.ask("GET", "/v1/properties/n").text == "1")
            let other = try site.ask(
                "POST",
                "/v1/properties/n/increment",
                #"{"by":2}"#,
                headers: ["Idempotency-Key: key-2"]
            )
            #expect(other.problem == "idempotency-key-reused")
            #expect(program.end() == 0)
        }
    }

    @Test(arguments: kinds)
    func `SIGTERM under load loses nothing`(kind: StrategyKind) async throws {
        try await offPool {
            let folder = try TemporaryFolder()
            var (program, site) = try Self.start(folder, kind)
            let acknowledged = Synchronized<[String], LockStrategy>([])
            let port = site.port
            let writers = TestThread {
                _ = TestThread.run(8) { writer in
                    for number in 0..<10_000 {
                        let name = "w\(writer)-\(number)"
                        let site = Site(port: port)
                        guard let answer = try? site.ask("PUT", "/v1/properties/\(name)", "1"),
                            answer.status == 201
                        else {
                            return
                        }
                        acknowledged.write { $0.append(name) }
                    }
                }
            }
            while acknowledged.read({ $0.count }) < 200 {
                sched_yield()
            }
            #expect(program.end() == 0)
            writers.join()
            (program, site) = try Self.start(folder, kind)
            let names = acknowledged.read { $0 }
            let client = try site.client()
            for name in names {
                #expect(try client.request("GET", "/v1/properties/\(name)").text == "1")
            }
            #expect(program.end() == 0)
        }
    }

    @Test func `what expires while no service runs is not served again`() async throws {
        try await offPool {
            let folder = try TemporaryFolder()
            var (program, site) = try Self.start(folder)
            #expect(try site.ask("PUT", "/v1/properties/short?ttl=0.05", "1").status == 201)
            Self.kill(program)
            (program, site) = try Self.start(folder)
            // Its removal is a commit, as always; a start can be faster than its time.
            let watch = try EventStreamClient(port: site.port, "/v1/watch?after=1")
            let event = try #require(try watch.next())
            #expect(event.type == "expire" && event.id == "2")
            #expect(try site.ask("GET", "/v1/properties/short").status == 404)
            #expect(program.end() == 0)
        }
    }

    @Test func `a watch from 0 begins with a gap behind a restored backup`() async throws {
        try await offPool {
            let folder = try TemporaryFolder()
            var (program, site) = try Self.start(folder)
            #expect(try site.ask("PUT", "/v1/properties/a", "1").status == 201)
            #expect(program.end() == 0)
            let (data, backup) = (folder.path + "/data", folder.path + "/backup")
            #expect(try Program(["backup", data, backup]).finish().status == 0)
            try FileManager.default.removeItem(atPath: data)
            #expect(try Program(["restore", backup, data]).finish().status == 0)
            (program, site) = try Self.start(folder)
            let watch = try EventStreamClient(port: site.port, "/v1/watch?after=0")
            #expect(try watch.next()?.type == "gap")
            let event = try #require(try watch.next())
            #expect(event.type == "put" && event.data.contains(#""name":"a""#))
            #expect(try site.ask("GET", "/v1/changes?after=0").problem == "gone")
            #expect(program.end() == 0)
        }
    }

    @Test func `a backup over HTTP leaves no file, and a start removes what a kill has left`()
        async throws
    {
        try await offPool {
            let folder = try TemporaryFolder()
            var (program, site) = try Self.start(folder)
            #expect(try site.ask("PUT", "/v1/properties/a", "1").status == 201)
            let left = folder.path + "/data/latchkey-backup.db"
            for _ in 0..<2 {
                #expect(try site.ask("GET", "/v1/backup").status == 200)
                #expect(!FileManager.default.fileExists(atPath: left))
            }
            Self.kill(program)
            #expect(FileManager.default.createFile(atPath: left, contents: Data([1])))
            (program, site) = try Self.start(folder)
            #expect(!FileManager.default.fileExists(atPath: left))
            #expect(try site.ask("GET", "/v1/backup").status == 200)
            #expect(program.end() == 0)
        }
    }

    @Test func `what is compacted is a gap, also for a longer history`() async throws {
        try await offPool {
            let folder = try TemporaryFolder()
            var (program, site) = try Self.start(
                folder,
                .lock,
                ["--history", "100"],
                limits: "compact-after=500"
            )
            let count = 1000
            let lines = (1...count).map { #"{"name":"p\#($0)","value":\#($0)}"# + "\n" }.joined()
            let imported = try site.ask("POST", "/v1/import?batch=1&partial=true", lines)
            #expect(imported.status == 200)
            try eventually("changes are compacted") { try Self.changeCount(site) < count }
            Self.kill(program)
            (program, site) = try Self.start(folder, .lock, ["--history", "1000000"])
            #expect(try site.ask("GET", "/v1/changes?after=1").problem == "gone")
            let watch = try EventStreamClient(port: site.port, "/v1/watch?after=1")
            #expect(try watch.next()?.type == "gap")
            #expect(try watch.next()?.type == "put")
            let changes = try site.ask("GET", "/v1/changes?after=\(count - 1)")
            #expect(changes.text.contains(#""name":"p\#(count)""#))
            #expect(try site.ask("GET", "/v1/properties/p1").text == "1")
            #expect(program.end() == 0)
        }
    }

    /// How many changes compaction has not brought forward.
    private static func changeCount(_ site: Site) throws -> Int {
        let metrics = try site.ask("GET", "/metrics").text
        let found = try #require(metrics.firstMatch(of: /\nlatchkey_data_changes (\d+)\n/))
        return try #require(Int(found.1))
    }

    @Test func `a second service on the folder is refused`() async throws {
        try await offPool {
            let folder = try TemporaryFolder()
            let (program, site) = try Self.start(folder)
            let second = try Program(["serve", "--port", "0", "--data", folder.path + "/data"])
            let ended = second.finish()
            #expect(ended.status == 1 && ended.errors.contains("cannot start"))
            #expect(try site.ask("PUT", "/v1/properties/a", "1").status == 201)
            #expect(program.end() == 0)
        }
    }

    @Test func `readyz names its checks`() async throws {
        try await offPool {
            let folder = try TemporaryFolder()
            let (program, site) = try Self.start(folder)
            let ready = try site.ask("GET", "/readyz?verbose")
            let checks = ["accepting", "recovered", "journal"]
                .map { #"{"name":"\#($0)","ok":true}"# }.joined(separator: ",")
            #expect(ready.text == #"{"status":"ready","checks":[\#(checks)]}"#)
            #expect(program.end() == 0)
        }
    }

    @Test func `a signal while the data is read ends the service`() async throws {
        try await offPool {
            let folder = try TemporaryFolder()
            let (program, site) = try Self.start(folder)
            #expect(try site.ask("PUT", "/v1/properties/a", "1").status == 201)
            #expect(program.end() == 0)
            // The signal is there before the program begins, which only looks when it reads.
            let result = try Program(
                ["serve", "--port", "0", "--data", folder.path + "/data"],
                after: #"""
                    exec env --block-signal=TERM sh -c 'kill -TERM $$; exec "$0" "$@"' "$0" "$@"
                    """#
            ).finish()
            #expect(result.status == 0 && result.output.isEmpty)
            #expect(result.errors.contains("info reading data properties=0 changes=1"))
            #expect(result.errors.contains(#"info stopped reason="A signal ended"#))
            let (again, there) = try Self.start(folder)
            #expect(try there.ask("GET", "/v1/properties/a").text == "1")
            #expect(again.end() == 0)
        }
    }

    @Test(arguments: ["always", "interval"])
    func `a service without requests takes no processor time`(durability: String) async throws {
        try await offPool {
            let folder = try TemporaryFolder()
            let program = try Program(
                ["serve", "--port", "0", "--data", folder.path + "/data"]
                    + ["--durability", durability]
            )
            let site = Site(port: try program.awaitPort())
            #expect(try site.ask("PUT", "/v1/properties/a", "1").status == 201)
            func processorSeconds() throws -> Double {
                try MetricsReading(text: site.ask("GET", "/metrics").text).processorSeconds
            }
            let before = try processorSeconds()
            // Sleeps because nothing happens: that is what is tested.
            Thread.sleep(forTimeInterval: 2)
            #expect(try processorSeconds() - before < 0.8)
            #expect(program.end() == 0)
        }
    }

    @Test func `durability without data is an error of the command line`() async throws {
        let result = try await Program.result(of: ["serve", "--durability", "interval"])
        #expect(result.status == 2)
        #expect(result.errors.contains("has no meaning without --data"))
    }

    @Test func `a service without data says that it keeps nothing`() async throws {
        try await offPool {
            let program = try Program(["serve", "--port", "0"])
            try program.awaitErrors(containing: "data is in memory only")
            #expect(program.end() == 0)
        }
    }
}
