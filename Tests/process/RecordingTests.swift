import Foundation
import LatchkeyComparison
import LatchkeyReport
import LatchkeyTestSupport
import LatchkeyTrace
import Testing

/// `serve --record`: the content of the file of a real service, and the end of a recording.
@Suite(.timeLimit(.minutes(15)))
struct RecordingTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private var path: String { folder.path + "/a.trace" }

    private func bytes() throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// Serves with a recording, runs the body, and returns the trace and the service's output.
    private func trace(
        limits: String = "record-sample=1/1",
        after shell: String? = nil,
        _ body: @escaping @Sendable (Site) throws -> Void
    ) async throws -> (trace: Trace, log: String) {
        let program = try Program(
            ["serve", "--port", "0", "--record", path],
            limits: limits,
            after: shell
        )
        try await offPool { try body(Site(port: program.awaitPort())) }
        program.signal(SIGTERM)
        let ended = try await offPool { program.finish() }
        #expect(ended.status == 0)
        return (try Trace(bytes()), ended.errors)
    }

    private static func put(_ site: Site, _ name: String, _ value: String) throws {
        #expect(try site.ask("PUT", "/v1/properties/\(name)", value).status / 100 == 2)
    }

    @Test func `every kind of operation is recorded, with its property and size`() async throws {
        let found = try await trace { site in
            try Self.put(site, "first", "\"secret-1\"")
            _ = try site.ask("GET", "/v1/properties/first")
            _ = try site.ask("POST", "/v1/properties/second/increment")
            _ = try site.ask(
                "PATCH",
                "/v1/properties/first",
                "{}",
                headers: ["Content-Type: application/merge-patch+json"]
            )
            _ = try site.ask("GET", "/v1/properties?prefix=f")
            _ = try site.ask(
                "POST",
                "/v1/transactions",
                #"{"then":[{"put":"first","value":1},{"delete":"second"}]}"#
            )
            _ = try site.ask("DELETE", "/v1/properties/first")
        }
        let records = found.trace.records
        #expect(
            records.map(\.kind) == [
                .put, .get, .increment, .merge, .list, .put, .delete, .delete,
            ]
        )
        #expect(records.map(\.sizeClass) == [4, 0, 0, 2, 0, 1, 0, 0])
        #expect(records.map(\.isJoined) == [false, false, false, false, false, false, true, false])
        let first = records[0].key
        let second = records[2].key
        #expect(first != second)
        #expect(records.map(\.key) == [first, first, second, first, 0, first, second, first])
        #expect(found.trace.header.sampleInterval == 1)
        #expect(found.log.contains("recorded operations=8 lost=0"))
    }

    @Test func `a transaction is recorded by the steps that were made, issue 17`() async throws {
        let found = try await trace { site in
            for _ in 0..<2 {
                let answer = try site.ask(
                    "POST",
                    "/v1/transactions",
                    #"{"if":[{"name":"a","exists":true}],"then":[{"delete":"a"},{"get":"b"}],"#
                        + #""else":[{"put":"a","value":1},{"increment":"b"}]}"#
                )
                #expect(answer.status == 200)
            }
        }
        let records = found.trace.records
        #expect(records.map(\.kind) == [.put, .increment, .delete, .get])
        #expect(records.map(\.isJoined) == [false, true, false, true])
    }

    @Test func `the file has no name, no value, and nothing that is the same next time`()
        async throws
    {
        let found = try await trace { site in
            try Self.put(site, "a-name-to-find", "\"a-value-to-find\"")
        }
        let text = String(decoding: try bytes(), as: UTF8.self)
        #expect(!text.contains("to-find"))
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
        #expect(mode as? Int == 0o600)
        try FileManager.default.removeItem(atPath: path)
        let other = try await trace { site in
            try Self.put(site, "a-name-to-find", "\"a-value-to-find\"")
        }
        #expect(found.trace.records[0].key != other.trace.records[0].key)
    }

    @Test func `the share of the operations is the one that was asked for`() async throws {
        let count = 8000
        let found = try await trace(limits: "record-sample=1/16") { site in
            let client = try site.client()
            for _ in 0..<count {
                _ = try client.request("GET", "/v1/properties/none")
            }
        }
        // Binomial with a mean of 500: six standard deviations are 130.
        #expect(abs(found.trace.records.count - count / 16) < 130)
        #expect(found.trace.header.sampleInterval == 16)
    }

    @Test(arguments: [
        ("record-sample=1/1,record-bytes=4096", nil, 4096, 252, "recording has ended"),
        // The shell's unit is 512 bytes.
        ("record-sample=1/1", "ulimit -f 2", 1024, 60, "File too large"),
    ])
    func `the recording ends at its bound or that of the disk, and the service goes on`(
        limits: String,
        shell: String?,
        byteCount: Int,
        count: Int,
        sentence: String
    ) async throws {
        let found = try await trace(limits: limits, after: shell) { site in
            let client = try site.client()
            for _ in 0..<300 {
                #expect(try client.request("GET", "/v1/properties/none").status == 404)
            }
        }
        #expect(try bytes().count == byteCount)
        #expect(found.trace.records.count == count)
        #expect(found.log.contains(sentence))
        #expect(found.log.contains("recorded operations=\(count) lost="))
    }

    @Test func `a service that is killed leaves what it recorded a second before`() async throws {
        let program = try Program(
            ["serve", "--port", "0", "--record", path],
            limits: "record-sample=1/1"
        )
        let path = path
        try await offPool {
            let site = Site(port: try program.awaitPort())
            try Self.put(site, "a", "1")
            try eventually("the file grows") {
                try Data(contentsOf: URL(fileURLWithPath: path)).count >= 80
            }
            program.signal(SIGKILL)
            _ = program.finish()
        }
        #expect(try Trace(bytes()).records.map(\.kind) == [.put])
    }

    @Test func `a file that exists is not overwritten`() async throws {
        try Data("precious".utf8).write(to: URL(fileURLWithPath: path))
        let ended = try await Program.result(of: ["serve", "--port", "0", "--record", path])
        #expect(ended.status == 1)
        #expect(ended.errors.contains("cannot be made: File exists"))
        #expect(try bytes() == Array("precious".utf8))
    }

    @Test func `a start that fails leaves no file`() async throws {
        let other = try Program(["serve", "--port", "0"])
        let path = path
        try await offPool {
            let port = try other.awaitPort()
            for _ in 0..<2 {
                let second = try Program(["serve", "--port", "\(port)", "--record", path])
                let ended = second.finish()
                #expect(ended.status == 1)
                #expect(ended.errors.contains("cannot start") && ended.errors.contains("\(port)"))
                #expect(ended.errors.contains("Address already in use"))
            }
            #expect(other.end() == 0)
        }
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func `a recorded trace is replayed`() async throws {
        _ = try await trace { site in
            let client = try site.client()
            for number in 0..<400 {
                let name = "name-\(number % 7)"
                let isWrite = number.isMultiple(of: 4)
                _ = try client.request(
                    isWrite ? "PUT" : "GET",
                    "/v1/properties/\(name)",
                    body: isWrite ? Array("\(number)".utf8) : nil
                )
            }
        }
        let reportPath = folder.path + "/report.json"
        let ended = try await Program.result(of: [
            "compare", "--trace", path, "--strategies", "lock,mutex", "--threads", "2",
            "--repeats", "1", "--speed", "0.5", "--force", "--json", reportPath,
        ])
        #expect(ended.status == 0, "\(ended.errors)")
        let report = try ComparisonReport(file: reportPath)
        #expect(report.settings.trace?.operations == 400)
        #expect(report.settings.trace?.file == "a.trace")
        #expect(report.settings.readRatios == [0.75])
        let strategies = report.cases.map(\.strategy).reduce(into: Set()) { $0.insert($1) }
        #expect(strategies == ["lock", "mutex"])
        for entry in report.cases {
            #expect(entry.workload.keys == 7)
            #expect(entry.repeats[0].operations > 50)
            #expect(entry.repeats[0].responseFromIntendedStart != nil)
        }
    }

    @Test(arguments: [
        (["--trace", "/none"], "cannot be read: No such file or directory."),
        (["--trace", "/dev/null"], "is not a trace: it does not begin with LKTRACE."),
        (["--trace", "PATH", "--transport", "http"], "--transport http has a closed loop only"),
        (["--trace", "PATH", "--json", "PATH"], "--trace and --json name the same file."),
        (["--speed", "2"], "--speed has no meaning without --trace."),
        (["--trace", "PATH", "--keys", "5"], "--keys has no meaning with --trace."),
        (["--trace", "PATH", "--speed", "0"], "--speed takes a number from 0.001 to 1000"),
    ])
    func `flags that a trace decides are refused`(flags: [String], sentence: String) async throws {
        var bytes = TraceHeader(sampleInterval: 1, startedMilliseconds: 0).bytes
        for index in 0..<1000 as Range<UInt64> {
            TraceRecord(nanoseconds: index * 1_000_000, key: 1, kind: .get).append(to: &bytes)
        }
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        let ended = try await Program.result(
            of: ["compare"] + flags.map { $0 == "PATH" ? path : $0 }
        )
        #expect(ended.status == 2)
        #expect(ended.errors.contains(sentence), "\(ended.errors)")
    }
}
