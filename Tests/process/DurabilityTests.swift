import Foundation
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import latchkey

/// A service that keeps its data, killed and started again: the real process and real files.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct DurabilityTests {
    /// A service on a folder.
    private static func start(
        _ folder: TemporaryFolder,
        _ flags: [String] = []
    ) throws -> (program: Program, site: Site) {
        let program = try Program(
            [
                "serve", "--port", "0", "--log-level", "warning", "--start-revision", "0",
                "--data", folder.path + "/data",
            ]
                + flags
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

    @Test func `acknowledged writes are there after kill -9`() async throws {
        try await offPool {
            let folder = try TemporaryFolder()
            // The recorder of a decision passes its answer on.
            func recording(_ life: Int) -> [String] { ["--record", "\(folder.path)/trace\(life)"] }
            var (program, site) = try Self.start(folder, recording(1))
            let checks = ["accepting", "recovered", "journal"]
                .map { #"{"name":"\#($0)","ok":true}"# }.joined(separator: ",")
            let ready = try site.ask("GET", "/readyz?verbose").text
            #expect(ready == #"{"status":"ready","checks":[\#(checks)]}"#)
            #expect(try site.ask("PUT", "/v1/properties/a", "[1, 2]").status == 201)
            #expect(try site.ask("PUT", "/v1/properties/a", "[3]").headers["etag"] == "\"2\"")
            #expect(try site.ask("PUT", "/v1/properties/gone", "1").status == 201)
            #expect(try site.ask("DELETE", "/v1/properties/gone").status == 204)
            #expect(try site.ask("PUT", "/v1/properties/mortal?ttl=1000", "2").status == 201)
            let steps = #"{"then":[{"increment":"n","by":7},{"put":"b","value":"x"}]}"#
            let key = ["Idempotency-Key: k"]
            let first = try site.ask("POST", "/v1/transactions", steps, headers: key)
            #expect(first.status == 200 && first.headers["idempotency-replayed"] == nil)
            let before = try Self.export(site)
            let watched = try EventStreamClient(port: site.port, "/v1/watch?after=1")
            let seen = try (0..<2).map { _ in try #require(try watched.next()) }
            Self.kill(program)

            (program, site) = try Self.start(folder, recording(2))
            let again = try site.ask("POST", "/v1/transactions", steps, headers: key)
            #expect(again.status == 200 && again.text == first.text)
            #expect(again.headers["etag"] == first.headers["etag"])
            #expect(again.headers["idempotency-replayed"] == "true")
            let other = try site.ask("POST", "/v1/transactions", #"{"then":[]}"#, headers: key)
            #expect(other.problem == "idempotency-key-reused")
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

    @Test func `SIGTERM under load loses nothing`() async throws {
        try await offPool {
            let folder = try TemporaryFolder()
            var (program, site) = try Self.start(folder)
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
            (program, site) = try Self.start(folder)
            let names = acknowledged.read { $0 }
            let client = try site.client()
            for name in names {
                #expect(try client.request("GET", "/v1/properties/\(name)").text == "1")
            }
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

    @Test(arguments: ["rm -r data", "cp -r data new && mv data old && mv new data"])
    func `a folder that is gone makes the service not ready, and a backup has all`(
        change: String
    ) async throws {
        try await offPool {
            let folder = try TemporaryFolder()
            var (program, site) = try Self.start(folder)
            #expect(try site.ask("PUT", "/v1/properties/a", "1").status == 201)
            let shell = Process()
            shell.executableURL = URL(fileURLWithPath: "/bin/sh")
            shell.arguments = ["-c", "cd '\(folder.path)' && \(change)"]
            try shell.run()
            shell.waitUntilExit()
            #expect(shell.terminationStatus == 0)
            var written = 0
            try eventually("no change is taken") {
                let answer = try site.ask("PUT", "/v1/properties/b\(written)", "1")
                written += answer.status == 201 ? 1 : 0
                return answer.status == 503
                    && answer.text.contains("refused until the server ends")
            }
            #expect(try site.ask("GET", "/readyz").status == 503)
            #expect(try site.ask("GET", "/readyz?verbose").text.contains("the last copy"))
            #expect(try site.ask("GET", "/v1/properties/a").text == "1")
            let lines = try site.ask("GET", "/v1/export").text.split(separator: "\n")
            #expect(lines.count == written + 2)
            let backup = folder.path + "/backup"
            try Data(site.ask("GET", "/v1/backup").body).write(to: URL(fileURLWithPath: backup))
            let ended = program.endAndFinish()
            #expect(ended.status == 1 && ended.errors.contains("data-folder-gone"))
            let data = folder.path + "/data"
            try? FileManager.default.removeItem(atPath: data)
            #expect(try Program(["restore", backup, data]).finish().status == 0)
            (program, site) = try Self.start(folder)
            for name in ["a"] + (0..<written).map({ "b\($0)" }) {
                #expect(try site.ask("GET", "/v1/properties/\(name)").text == "1")
            }
            #expect(program.end() == 0)
        }
    }

    @Test func `a relative folder that begins as a URI is found again`() async throws {
        try await offPool {
            let folder = try TemporaryFolder()
            for text in ["", "1"] {
                let program = try Program(
                    ["serve", "--port", "0", "--data", "file:y?a=b"],
                    after: "cd '\(folder.path)'"
                )
                let site = Site(port: try program.awaitPort())
                #expect(try site.ask("GET", "/v1/properties/a").text.hasPrefix(text))
                #expect(try site.ask("PUT", "/v1/properties/a", "1").status / 100 == 2)
                #expect(program.end() == 0)
            }
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(names == ["file:y?a=b"])
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
}
