import Foundation
import LatchkeyReport
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyCommandLine
@testable import LatchkeyComparison
@testable import latchkey

/// `latchkey compare` as a process: flags, files, signals and status.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct CompareTests {
    static let quick = [
        "compare", "--strategies", "lock,spin", "--threads", "1,2", "--duration", "10ms",
        "--repeats", "3", "--force",
    ]

    /// For tests that do not depend on the figures.
    static let least = [
        "compare", "--strategies", "lock", "--threads", "1", "--duration", "5ms", "--repeats", "3",
        "--force",
    ]

    /// Without SIGHUP if the tests run under `nohup`, because their children inherit that.
    static let interrupts: [Int32] = {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("SigIgn:") }
        let ignored = line?.split(separator: "\t").last.flatMap { UInt64($0, radix: 16) } ?? 0
        return [SIGINT, SIGTERM] + (ignored & 1 << (SIGHUP - 1) == 0 ? [SIGHUP] : [])
    }()

    private func run(
        _ arguments: [String],
        environment: [String: String] = [:],
        after shell: String? = nil
    ) async throws -> (status: Int32, output: String, errors: String) {
        try await Program.result(of: arguments, environment: environment, after: shell)
    }

    @Test(arguments: [
        (["--preset", "none"], "--preset takes one of counter, cache, config, registry, convoy"),
        (["--strategies", "hope"], "--strategies takes names from serial-queue, "),
        (["--strategies", "lock,lock"], "--strategies names 'lock' twice."),
        (["--strategies", "all,lock"], "--strategies takes all, or names, not both."),
        (["--threads", "0"], "--threads takes whole numbers from 1 to 256, not '0'."),
        (["--threads", "1,257"], "--threads takes whole numbers from 1 to 256, not '257'."),
        (["--threads="], "--threads needs a value."),
        (["--threads", "1,,2"], "--threads has an empty place in its list '1,,2'."),
        (["--threads", "1.."], "--threads takes whole numbers from 1 to 256, not '1..'."),
        (["--threads", "8,4"], "--threads takes ascending numbers, and '4' comes after '8'."),
        (["--threads", "8..1"], "--threads has a range that runs backwards: '8..1'."),
        (["--read-ratio", "1.5"], "--read-ratio takes numbers from 0.0 to 1.0, not '1.5'."),
        (["--section", "-1"], "--section takes whole numbers from 0 to "),
        (["--outside", "scaled:"], "--outside takes nanoseconds such as 200, or scaled:200"),
        (["--skew", "zipf:0"], "--skew takes uniform, or zipf:EXPONENT"),
        (["--stripes", "3"], "--stripes takes powers of two from 1 to "),
        (["--arrival", "open:0"], "--arrival takes closed, or open:RATE"),
        (["--arrival", "open:10"], "--arrival has fewer than 100 operations in a repeat"),
        (["--duration", "2h"], "--duration takes a time from 5ms to 60s"),
        (["--transport", "http", "--section", "5"], "--section has no meaning over HTTP."),
        (["--transport", "http", "--arrival", "open:5000"], "--transport http has a closed loop"),
        (["--against", "a.json"], "--against needs --from, the earlier report."),
        (["--from", "a.json", "--threads", "1"], "--from measures nothing, so --threads has no"),
    ])
    func `a bad command line is a sentence and status 2`(
        arguments: [String],
        sentence: String
    ) async throws {
        let result = try await run(["compare"] + arguments)
        #expect(result.status == 2)
        #expect(result.errors.hasPrefix("latchkey: \(sentence)"), "\(result.errors)")
        #expect(result.output.isEmpty)
    }

    @Test func `a value from the environment is named as such`() async throws {
        let result = try await run(
            ["compare", "--from", "a.json"],
            environment: ["LATCHKEY_THREADS": "2"]
        )
        #expect(result.status == 2)
        #expect(
            result.errors.hasPrefix("latchkey: --from measures nothing, so LATCHKEY_THREADS has no")
        )
    }

    @Test func `a run prints its table and writes its files, which can be read again`() async throws
    {
        let folder = try TemporaryFolder()
        let result = try await run(
            Self.quick + [
                "--json", folder.path + "/a.json", "--csv", folder.path + "/a.csv",
                "--html", folder.path + "/a.html",
            ]
        )
        #expect(result.status == 0)
        #expect(result.output.contains("All "))
        #expect(result.errors.contains("latchkey: 100 % done"))
        #expect(!result.output.contains("\u{1B}"), "no colour without a terminal")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(names == ["a.csv", "a.html", "a.json"], "and no temporary file")
        let report = try ComparisonReport(file: folder.path + "/a.json")
        #expect(report.cases.count == 4)
        #expect(report.baselines.count == 3)
        let again = try await run(["compare", "--from", folder.path + "/a.json"])
        #expect(again.output == result.output)
        let same = try await run(
            [
                "compare", "--from", folder.path + "/a.json", "--against",
                folder.path + "/a.json", "--force",
            ]
        )
        #expect(same.status == 0, "\(same.errors)")
        var refused = report
        refused.conditions.findings = ["Something else ran."]
        refused.conditions.ranking = .refused
        for index in refused.cases.indices {
            // Beside so many other tests, the measured figures may be 0.
            let rates = [0.99e6, 1e6, 1.01e6]
            refused.cases[index].summary.operationsPerSecond = .init(rates)
            refused.cases[index].summary.jainIndex = nil
            refused.cases[index].summary.wait = nil
            refused.cases[index].summary.isBistable = false
        }
        refused.conclude(isForced: false)
        try Data(refused.json()).write(to: URL(filePath: folder.path + "/b.json"))
        let plain = try await run(["compare", "--from", folder.path + "/b.json"])
        #expect(plain.output.contains("Nothing is recommended"))
        let other = try await run([
            "compare", "--from", folder.path + "/b.json", "--force", "--current", "ticket",
        ])
        #expect(other.output.contains("`ticket` was not measured"), "\(other.output)")
        var own = refused
        own.conditions.ranking = .allowed
        for index in own.cases.indices where own.cases[index].strategy == "spin" {
            own.cases[index].strategy = "own-lock"
        }
        own.settings.strategies = own.cases.map { StrategyName(rawValue: $0.strategy) }.uniqued()
        try Data(own.json()).write(to: URL(filePath: folder.path + "/own.json"))
        let mine = try await run([
            "compare", "--from", folder.path + "/own.json", "--current", "own-lock",
        ])
        #expect(mine.status == 0 && mine.output.contains("`own-lock`"), "\(mine)")
        let both = try await run([
            "compare", "--from", folder.path + "/b.json", "--current", "spin", "--against",
            folder.path + "/b.json",
        ])
        #expect(both.status == 2 && both.errors.contains("--current has no meaning with --against"))
        let forced = try await run(["compare", "--from", folder.path + "/b.json", "--force"])
        #expect(
            forced.output.contains("Ranked because of --force. Problem: Something else ran.")
        )
        #expect(same.output.contains("No difference found beyond the noise."))
    }

    /// In a process of its own, because the threads for actors are busy with tests in this one.
    @Test func `every strategy is measured and passes`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/a.json"
        let result = try await run([
            "compare", "--threads", "2", "--repeats", "1", "--duration", "300ms", "--force",
            "--json", path,
        ])
        #expect(result.status == 0, "\(result.output)\(result.errors)")
        let report = try ComparisonReport(file: path)
        #expect(report.cases.map(\.strategy) == StrategyKind.allCases.map(\.rawValue))
        for found in report.cases {
            let repeated = found.repeats[0]
            #expect(repeated.operations > 0, "\(found.strategy)")
            #expect(repeated.operationsPerThread.count == 2)
            // Whether waits were seen depends on what else runs here.
            // A Mutex must not be tried, so it is unknown.
            #expect((repeated.contended == nil) == (found.strategy == "mutex"))
            let cost = try #require(found.summary.costAgainstUnsynchronized)
            #expect(cost > 0, "\(found.strategy): \(report.baselines[0])")
        }
        #expect(report.verdicts.count == 2 * StrategyKind.allCases.count)
        #expect(report.verdicts.allSatisfy { $0.outcome == .passed }, "\(report.verdicts)")
        #expect(!report.isInterrupted)
    }

    @Test func `standard output that cannot be written is status 2, and the files are there`()
        async throws
    {
        let folder = try TemporaryFolder()
        let path = folder.path + "/a.json"
        let sentence = "latchkey: standard output cannot be written: No space left on device.\n"
        let measured = try await run(Self.least + ["--json", path], after: "exec >/dev/full")
        #expect(measured.status == 2)
        #expect(measured.errors.hasSuffix(sentence))
        #expect(try ComparisonReport(file: path).cases.count == 1)
        for arguments in [["--from", path], ["--from", path, "--against", path, "--force"]] {
            let read = try await run(["compare"] + arguments, after: "exec >/dev/full")
            #expect(read.status == 2)
            #expect(read.errors == sentence)
        }
    }

    @Test func `one file for two reports is refused before the run`() async throws {
        let folder = try TemporaryFolder()
        let names = ["same", "./same", "link"].map { folder.path + "/" + $0 }
        try FileManager.default.createSymbolicLink(atPath: names[2], withDestinationPath: "same")
        for name in names {
            let result = try await run(Self.least + ["--json", names[0], "--csv", name])
            #expect(result.status == 2)
            #expect(result.errors.hasPrefix("latchkey: --json and --csv name the same file.\n"))
            #expect(result.output.isEmpty)
            try Data("older".utf8).write(to: URL(filePath: names[0]))
        }
        #expect(try String(contentsOfFile: names[0], encoding: .utf8) == "older")
        let twice = try await run(Self.least + ["--json", "-", "--csv", "-"])
        #expect(twice.status == 2 && twice.output.isEmpty)
        let missing = try await run(Self.least + ["--html", "no/such/folder/a.html"])
        #expect(missing.status == 2 && missing.output.isEmpty)
        let nowhere = try await run(Self.least + ["--json", "/dev/null", "--csv", "/dev/null"])
        #expect(nowhere.status == 0, "\(nowhere.errors)")
    }

    @Test(arguments: ["json", "csv", "html", "markdown"])
    func `a file that is read, or printed to, is not replaced`(format: String) async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/a.json"
        #expect(try await run(Self.least + ["--json", path]).status == 0)
        let report = try Data(contentsOf: URL(filePath: path))
        let read = try await run(["compare", "--from", path, "--\(format)", path])
        #expect(read.status == 2)
        #expect(read.errors.hasPrefix("latchkey: --from and --\(format) name the same file.\n"))
        #expect(try Data(contentsOf: URL(filePath: path)) == report)
        let log = folder.path + "/log"
        for name in [log, "/dev/stdout", "/dev/fd/1"] {
            try Data("older\n".utf8).write(to: URL(filePath: log))
            let printed = try await run(
                ["compare", "--from", path, "--\(format)", name],
                after: "exec >>\(log)"
            )
            #expect(printed.status == 2)
            let sentence = "latchkey: standard output and --\(format) name the same file.\n"
            #expect(printed.errors.hasPrefix(sentence))
            #expect(try String(contentsOfFile: log, encoding: .utf8) == "older\n")
        }
    }

    @Test func `a report with a failed check is status 1 also when it is read again`() async throws
    {
        let folder = try TemporaryFolder()
        let path = folder.path + "/a.json"
        #expect(try await run(Self.least + ["--json", path]).status == 0)
        #expect(try await run(["compare", "--from", path]).status == 0)
        var report = try ComparisonReport(file: path)
        report.verdicts[0].outcome = .failed
        try Data(report.json()).write(to: URL(filePath: path))
        #expect(try await run(["compare", "--from", path]).status == 1)
    }

    @Test(arguments: ["json", "csv", "html"])
    func `a file that cannot be written whole is status 2, and the older one stays`(
        format: String
    ) async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/report"
        try Data("older".utf8).write(to: URL(filePath: path))
        // A block of 512 bytes, or of 1024: the report is longer than either limit, and standard
        // output is a pipe, which has none.
        let result = try await run(Self.least + ["--\(format)", path], after: "ulimit -f 1")
        #expect(result.status == 2)
        #expect(result.errors.contains("\(path) cannot be written: File too large."))
        #expect(result.output.contains("strategy"), "the table is there all the same")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "older")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names == ["report"], "and no temporary file")
    }

    @Test func `an error that quotes a foreign file has no control characters`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/a.json"
        let url = URL(filePath: path)
        try Data(#"{"schema": "a\u001B]0;b\u0007c"}"#.utf8).write(to: url)
        let result = try await run(["compare", "--from", path])
        #expect(result.status == 2)
        #expect(result.errors.contains("has the schema 'a\u{FFFD}]0;b\u{FFFD}c'"))
    }

    @Test func `a refusal that lists names of a foreign file has none of their marks`() async throws
    {
        let folder = try TemporaryFolder()
        let path = folder.path + "/a.json"
        #expect(try await run(Self.least + ["--json", path]).status == 0)
        var report = try ComparisonReport(file: path)
        report.settings.strategies.append(StrategyName(rawValue: "a\u{202E}b\u{1B}c"))
        try Data(report.json()).write(to: URL(filePath: path))
        let result = try await run(["compare", "--from", path, "--current", "hope"])
        #expect(result.status == 2)
        #expect(result.errors.contains("a\u{FFFD}b\u{FFFD}c"), "\(result.errors)")
        #expect(!result.errors.contains("\u{202E}") && !result.errors.contains("\u{1B}"))
    }

    @Test func `a report is read from standard input, but not two`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/a.json"
        #expect(try await run(Self.least + ["--json", path]).status == 0)
        let file = try await run(["compare", "--from", path])
        let shell = "exec <\(path)"
        let input = try await run(["compare", "--from", "-"], after: shell)
        #expect(input.status == 0 && input.output == file.output, "\(input.errors)")
        let copied = try await run(["compare", "--from", "-", "--json", "-"], after: shell)
        #expect(copied.status == 0 && copied.output.hasPrefix("{"), "\(copied.errors)")
        let later = ["compare", "--from", path, "--against", "-", "--force"]
        let against = try await run(later, after: shell)
        #expect(against.status == 0, "\(against.errors)")
        let empty = try await run(["compare", "--from", "-"], after: "exec </dev/null")
        #expect(empty.status == 2 && empty.errors == "latchkey: standard input is empty.\n")
        let both = try await run(["compare", "--from", "-", "--against", "-"])
        #expect(both.status == 2)
        #expect(both.errors.contains("--from and --against cannot both be standard input."))
    }

    @Test func `interrupts that come at once are one, and what is finished is written`()
        async throws
    {
        let folder = try TemporaryFolder()
        let program = try Program([
            "compare", "--strategies", "lock", "--threads", "1", "--duration", "40ms",
            "--repeats", "50", "--json", folder.path + "/a.json", "--force",
        ])
        let result = try await offPool {
            try program.awaitErrors(containing: " 10 % ")
            program.signal(SIGINT)
            // A second one would be the same while the first is pending.
            try eventually("it is handled") { !program.isPending(SIGINT) }
            program.signal(SIGINT)
            return program.finish()
        }
        #expect(result.status == 130)
        #expect(try ComparisonReport(file: folder.path + "/a.json").isInterrupted)
    }

    @Test(arguments: Self.interrupts)
    func `an interrupt prints and writes what is finished`(signal: Int32) async throws {
        let folder = try TemporaryFolder()
        let program = try Program([
            "compare", "--strategies", "lock", "--threads", "1", "--duration", "40ms",
            "--repeats", "50", "--json", folder.path + "/a.json", "--csv", folder.path + "/a.csv",
            "--html", folder.path + "/a.html", "--force",
        ])
        let result = try await offPool {
            try program.awaitErrors(containing: " 10 % ")
            program.signal(signal)
            return program.finish()
        }
        #expect(result.status == 130)
        #expect(result.output.contains("The run was interrupted: only the finished part is shown."))
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(names == ["a.csv", "a.html", "a.json"])
        let report = try ComparisonReport(file: folder.path + "/a.json")
        #expect(report.isInterrupted)
        let repeats = try #require(report.cases.first?.repeats.count)
        #expect((1..<50).contains(repeats))
    }

    @Test func `a hang-up that is ignored, as under nohup, interrupts nothing`() async throws {
        let program = try Program(
            [
                "compare", "--strategies", "lock", "--threads", "1", "--duration", "10ms",
                "--repeats", "50", "--force",
            ],
            after: "trap '' HUP"
        )
        let result = try await offPool {
            try program.awaitErrors(containing: " 10 % ")
            program.signal(SIGHUP)
            return program.finish()
        }
        #expect(result.status == 0)
        #expect(!result.output.contains("Interrupted"))
    }

    @Test(arguments: ["json", "csv", "html"])
    func `a report named - is standard output, and the table is on standard error`(
        format: String
    ) async throws {
        let result = try await run(CompareTests.least + ["--\(format)", "-"])
        #expect(result.status == 0)
        #expect(result.errors.contains("\nstrategy "))
        #expect(!result.output.contains("\nstrategy "))
        let starts = ["json": "{\n", "csv": "strategy,", "html": "<!doctype html>"]
        #expect(result.output.lowercased().hasPrefix(starts[format] ?? "?"), "\(result.output)")
        #expect(result.output.utf8.last == UInt8(ascii: "\n"))
    }

    @Test func `a run of more than five minutes says how long it takes`() async throws {
        let long = ["--strategies=lock", "--threads=1", "--repeats=1000", "--duration=90ms"]
        let program = try Program(["compare", "--force"] + long)
        let status = try await offPool {
            try program.awaitErrors(containing: "latchkey: the run takes about 6 min")
            return program.end()
        }
        #expect(status == 130)
    }
}
