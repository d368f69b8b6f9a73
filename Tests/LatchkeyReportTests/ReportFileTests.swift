import Foundation
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyComparison
@testable import LatchkeyReport

struct ReportFileTests {
    private let report = SampleReport(strategies: [.lock, .spin], threads: [1, 2]).make()

    @Test func `a report is the same after JSON`() throws {
        var report = report
        report.recommendation = report.verdict
        let json = try report.json()
        #expect(try ComparisonReport(json: json, source: "it") == report)
    }

    @Test func `a truncated report is refused with a sentence`() throws {
        let json = try report.json()
        for length in [0, 1, json.count / 3, json.count - 3] {
            let message =
                "a.json is not a report of latchkey compare: it is not valid JSON, or truncated."
            #expect(throws: ReportFileError(message: message)) {
                _ = try ComparisonReport(json: Array(json.prefix(length)), source: "a.json")
            }
        }
    }

    @Test(arguments: [
        ("latchkey-comparison/99", "It is of a later latchkey: read it with that version."),
        (
            "latchkey-comparison/1",
            "It is of an earlier latchkey: measure again, or read it with that version."
        ), ("other/7", "It is not a report of latchkey compare."),
    ])
    func `a report of another schema is refused, and it is said what to do`(
        schema: String,
        advice: String
    ) throws {
        var report = report
        report.schema = schema
        let json = try report.json()
        let message =
            "a.json has the schema '\(schema)'; this version of latchkey reads "
            + "'latchkey-comparison/3' and the one before it. \(advice)"
        #expect(throws: ReportFileError(message: message)) {
            _ = try ComparisonReport(json: json, source: "a.json")
        }
    }

    /// A report over HTTP as an earlier version wrote it, with every case in each of these ways.
    ///
    /// The threads tell apart what was measured with a thread for each connection.
    private func earlier(_ modes: [String]) throws -> [UInt8] {
        let now = try JSONSerialization.jsonObject(with: Data(report.json())) as? [String: Any]
        var json = try #require(now)
        var settings = json["settings"] as? [String: Any] ?? [:]
        (settings["transport"], settings["threadModes"]) = ("http", modes)
        (json["schema"], json["settings"]) = ("latchkey-comparison/2", settings)
        for name in ["baselines", "cases"] {
            let entries = json[name] as? [[String: Any]] ?? []
            json[name] = modes.flatMap { mode in
                entries.map { entry in
                    var entry = entry
                    var workload = entry["workload"] as? [String: Any] ?? [:]
                    workload["threadMode"] = mode
                    entry["workload"] = workload
                    if mode == "thread-per-connection" {
                        entry["threads"] = 62 + (entry["threads"] as? Int ?? 0)
                    }
                    return entry
                }
            }
        }
        return try Array(JSONSerialization.data(withJSONObject: json))
    }

    @Test(arguments: [
        (["event-loop"], 2, 0), (["thread-per-connection", "event-loop"], 2, 1),
        (["thread-per-connection"], 64, 1),
    ])
    func `a report of schema 2 over HTTP is read, with one figure for each case`(
        modes: [String],
        mostThreads: Int,
        sentences: Int
    ) throws {
        var read = try ComparisonReport(json: earlier(modes), source: "it")
        #expect(read.schema == ComparisonReport.schemaName)
        #expect(read.cases.count == report.cases.count)
        #expect(read.baselines.count == report.baselines.count)
        #expect((read.cases + read.baselines).allSatisfy { $0.workload.transport == .http })
        #expect(read.cases.map(\.threads).max() == mostThreads)
        #expect(read.conditions.disturbances.count == sentences)
        read.conclude(isForced: false)
        #expect(try ComparisonReport(json: read.json(), source: "it") == read)
        let text = read.terminal(width: 180)
        #expect(text.contains("for each number of connections"))
        #expect(text.contains("a thread for each connection") == (sentences > 0))
    }

    @Test(arguments: [
        "{}", "[]", "3", "{\"schema\": 3}", "{\"schema\": \"latchkey-comparison/2\"}",
        "{\"schema\": \"latchkey-comparison/3\"}",
    ])
    func `JSON that is no report is refused with a sentence`(text: String) {
        let error = #expect(throws: ReportFileError.self) {
            _ = try ComparisonReport(json: Array(text.utf8), source: "a.json")
        }
        #expect(error?.message.hasPrefix("a.json ") == true)
        #expect(error?.message.hasSuffix(".") == true)
    }

    @Test func `the longest name can be written, and a longer one is refused before the run`()
        throws
    {
        let folder = try TemporaryFolder()
        let path = folder.path + "/" + String(repeating: "a", count: 255)
        try ReportFile.checkCanWrite(path)
        try ReportFile.write(Array("one".utf8), to: path)
        #expect(try ReportFile.read(path) == Array("one".utf8))
        let error = #expect(throws: ReportFileError.self) {
            try ReportFile.checkCanWrite(path + "a")
        }
        #expect(error?.message == "\(path)a cannot be written: File name too long.")
    }

    @Test(.timeLimit(.minutes(15)))
    func `a pipe whose other end is not there is a sentence, and with it is a file`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/pipe"
        #expect(unsafe mkfifo(path, 0o600) == 0)
        try ReportFile.checkCanWrite(path)
        let unread = #expect(throws: ReportFileError.self) {
            try ReportFile.write(Array("one".utf8), to: path)
        }
        #expect(unread?.message == "\(path) cannot be written: no program reads the pipe.")
        let unwritten = #expect(throws: ReportFileError.self) { _ = try ReportFile.read(path) }
        #expect(unwritten?.message == "\(path) is empty.")
        // More than a pipe holds, so that each end has to wait for the other.
        let bytes = [UInt8](repeating: 7, count: 1 << 20)
        let writer = Process()
        writer.executableURL = URL(filePath: "/bin/sh")
        writer.arguments = ["-c", "head -c 1048576 /dev/zero >\"$0\"", path]
        let reader = Process()
        reader.executableURL = URL(filePath: "/bin/sh")
        reader.arguments = ["-c", "test $(wc -c <\"$0\") = 1048576", path]
        // A reader that reads nothing, so that neither of the two has to be there first.
        let end = unsafe open(path, O_RDONLY | O_NONBLOCK)
        defer { close(end) }
        try writer.run()
        var waiting = pollfd(fd: end, events: Int16(POLLIN), revents: 0)
        #expect(unsafe poll(&waiting, 1, 30_000) == 1)
        #expect(try ReportFile.read(path).count == bytes.count)
        writer.waitUntilExit()
        try reader.run()
        try ReportFile.write(bytes, to: path)
        reader.waitUntilExit()
        #expect(reader.terminationStatus == 0)
    }

    @Test func `a report keeps the permissions of the file that it replaces`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/a.json"
        try Data("older".utf8).write(to: URL(filePath: path))
        #expect(unsafe chmod(path, 0o600) == 0)
        try ReportFile.write(Array("newer".utf8), to: path)
        var status = stat()
        #expect(unsafe stat(path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        #expect(try ReportFile.read(path) == Array("newer".utf8))
    }

    @Test func `a missing file is named`() {
        let error = #expect(throws: ReportFileError.self) {
            _ = try ComparisonReport(file: "no/such.json")
        }
        #expect(error?.message == "no/such.json cannot be read: No such file or directory.")
    }

    @Test func `a file is replaced as a whole`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/a.json"
        try ReportFile.write(Array("one".utf8), to: path)
        try ReportFile.write(Array("two".utf8), to: path)
        #expect(try ReportFile.read(path) == Array("two".utf8))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a.json"])
    }

    @Test func `a symbolic link stays and its file is replaced`() throws {
        let folder = try TemporaryFolder()
        try ReportFile.write(Array("one".utf8), to: folder.path + "/a.json")
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/link.json",
            withDestinationPath: "a.json"
        )
        try ReportFile.write(Array("two".utf8), to: folder.path + "/link.json")
        #expect(try ReportFile.read(folder.path + "/a.json") == Array("two".utf8))
    }

    @Test func `a full device is an error and stays a device`() {
        let error = #expect(throws: ReportFileError.self) {
            try ReportFile.write(Array("one".utf8), to: "/dev/full")
        }
        #expect(error?.message == "/dev/full cannot be written: No space left on device.")
    }

    @Test func `CSV has a line for each repeat and as many fields as its header`() throws {
        let lines = String(decoding: report.csv(), as: UTF8.self).split(separator: "\r\n")
        let counts = lines.map { $0.split(separator: ",", omittingEmptySubsequences: false).count }
        #expect(lines.count == 1 + (report.cases + report.baselines).count * 5)
        #expect(Set(counts).count == 1)
        #expect(lines[0].hasPrefix("strategy,threads,workload,readRatio,sectionNanoseconds"))
    }

    @Test func `CSV has every figure of a repeat in its own column`() throws {
        var report = SampleReport(strategies: [.lock], threads: [2], repeats: 1).make()
        report.baselines = []
        report.cases[0].workload = SampleReport.workload(readRatio: 0.25, transport: .http)
        report.cases[0].workload.skew = .zipf(exponent: 0.99)
        report.cases[0].workload.name = "cache"
        var measured = report.cases[0].repeats[0]
        (measured.response, measured.responseFromIntendedStart) = (.sample(p50: 7), .sample(p50: 8))
        measured.startDelay = .sample(p50: 9)
        (measured.meteredOperations, measured.futexCalls) = (11, 12)
        (measured.systemCalls, measured.refused) = (13, 14)
        (measured.lineNanoseconds, measured.isLeftOut) = ([57, 392], true)
        (measured.operations, measured.operationsPerThread) = (30, [10, 20])
        report.cases[0].repeats = [measured]
        let rows = String(decoding: report.csv(), as: UTF8.self).split(separator: "\r\n").map {
            $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let fields = Dictionary(uniqueKeysWithValues: zip(rows[0], rows[1]))
        #expect(fields.filter { $0.value.isEmpty }.map(\.key) == [])
        let expected = [
            "workload": "cache", "startDelayP50Nanoseconds": "9.0",
            "strategy": "lock", "threads": "2", "readRatio": "0.25", "outside": "200",
            "skew": "zipf:0.99", "arrival": "closed", "repeat": "0",
            "operations": "30", "seconds": "0.2", "operationsPerSecond": "150.0",
            "operationsPerThread": "10 20", "meteredOperations": "11", "futexCalls": "12",
            "lineNanoseconds": "57.0 392.0", "isLeftOut": "true",
            "refused": "14", "responseP50Nanoseconds": "7.0", "waitTimedCount": "1000",
            "responseFromIntendedStartP999Nanoseconds": "3200.0",
        ]
        for (name, value) in expected { #expect(fields[name] == value, "\(name)") }
    }
}
