import Foundation
import LatchkeyReport
import LatchkeyTestSupport
import Testing

@testable import LatchkeyComparison

/// `latchkey compare --baseline` as a process.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct CompareBaselineTests {
    private func run(
        _ arguments: [String]
    ) async throws -> (status: Int32, output: String, errors: String) {
        try await Program.result(of: ["compare"] + arguments)
    }

    private let least = Array(CompareTests.least.dropFirst())

    /// A report on one thread with these operations per second.
    private func report(
        _ rate: Double,
        _ folder: TemporaryFolder,
        _ name: String
    ) async throws
        -> String
    {
        let path = folder.path + "/\(name).json"
        #expect(try await run(least + ["--json", path]).status == 0)
        var report = try ComparisonReport(file: path)
        // Other load on this machine must not decide.
        report.conditions.foreignProcessors = 0
        (report.conditions.stealRatio, report.conditions.throttledSeconds) = (0, 0)
        report.fingerprint.cacheLine = nil
        for index in report.cases[0].repeats.indices {
            report.cases[0].repeats[index].seconds = 1
            report.cases[0].repeats[index].operations = Int(rate * (1 + 0.001 * Double(index)))
            report.cases[0].repeats[index].cpuSeconds = nil
            (report.cases[0].repeats[index].wait, report.cases[0].repeats[index].hold) = (nil, nil)
        }
        try Data(report.json()).write(to: URL(filePath: path))
        return path
    }

    @Test(arguments: [
        (
            ["--baseline", "a.json", "--from", "b.json", "--against", "c.json"],
            "--baseline has no meaning with --against."
        ),
        (["--fail-below", "0.9"], "--fail-below has no meaning without --baseline or --against."),
        (["--fail-below", "0.9", "--from", "a.json"], "--fail-below has no meaning without"),
        (["--baseline", "a.json", "--fail-below", "0"], "--fail-below takes a number above 0,"),
        (["--baseline", "a.json", "--fail-below", "1.1"], "--fail-below takes a number above 0,"),
        (
            ["--baseline", "-", "--from", "-"],
            "--from and --baseline cannot both be standard input."
        ),
        (["--baseline", "/no/such/file"], "/no/such/file cannot be read: No such file"),
    ])
    func `a comparison that makes no sense is a sentence and status 2`(
        arguments: [String],
        sentence: String
    ) async throws {
        let result = try await run(arguments)
        #expect(result.status == 2)
        #expect(result.errors.hasPrefix("latchkey: \(sentence)"), "\(result.errors)")
        #expect(result.output.isEmpty)
    }

    @Test func `a baseline that cannot be compared ends the program before the run`() async throws {
        let folder = try TemporaryFolder()
        let path = try await report(1e6, folder, "a")
        let text = try String(contentsOfFile: path, encoding: .utf8)
        var other = try ComparisonReport(file: path)
        other.fingerprint.processorModel = "Other"
        for (content, sentence) in [
            (String(text.prefix(900)), "\(path) is not a report of latchkey compare"),
            (String(decoding: try other.json(), as: UTF8.self), "The reports are of different"),
        ] {
            try Data(content.utf8).write(to: URL(filePath: path))
            let arguments = least.filter { $0 != "--force" } + ["--baseline", path]
            let result = try await run(arguments)
            #expect(result.status == 2 && result.output.isEmpty)
            #expect(result.errors.hasPrefix("latchkey: \(sentence)"), "\(result.errors)")
            #expect(result.errors.split(separator: "\n").count == 1, "nothing was measured")
        }
    }

    @Test func `a run shows its own report, and then what changed`() async throws {
        let folder = try TemporaryFolder()
        let before = try await report(1e6, folder, "a")
        let names = ["json", "csv", "html", "markdown"]
        let files = Dictionary(uniqueKeysWithValues: names.map { ($0, folder.path + "/b.\($0)") })
        let result = try await run(
            least + ["--baseline", before, "--fail-below", "0.001"]
                + files.flatMap { ["--\($0)", $1] }
        )
        #expect(result.status == 0, "\(result.errors)")
        let later = try #require(files["json"])
        let own = try await run(["--from", later])
        let changes = try await run(
            ["--from", before, "--against", later, "--force", "--fail-below", "0.001"]
        )
        #expect(result.output == own.output + "\n" + changes.output)
        let words = changes.output.split { $0.isWhitespace }.joined(separator: " ")
        #expect(words.hasSuffix(" surely below 0.001 of the one before, in 1 case of 1."))
        for name in ["html", "markdown"] {
            let text = try String(contentsOfFile: files[name] ?? "", encoding: .utf8)
            #expect(text.contains("hat changed") && text.contains("lock"), "\(name)")
        }
        let same = try await run(least + ["--baseline", before, "--json", before])
        #expect(same.errors.hasPrefix("latchkey: --baseline and --json name the same file."))
    }

    @Test func `several runs are compared with several`() async throws {
        let folder = try TemporaryFolder()
        var (before, after): ([String], [String]) = ([], [])
        for (index, rate) in [1e6, 1.01e6, 0.99e6].enumerated() {
            before.append(try await report(rate, folder, "a\(index)"))
            after.append(try await report(0.5 * rate, folder, "b\(index)"))
        }
        func all(_ flag: String, _ paths: [String]) -> [String] { paths.flatMap { [flag, $0] } }
        for sides in [
            all("--from", before) + all("--against", after),
            all("--baseline", before) + all("--from", after),
        ] {
            let result = try await run(sides + ["--force"])
            #expect(result.status == 1, "\(result.output)\(result.errors)")
            #expect(result.output.contains("Each run counts as one value"))
        }
        let last = ["--from", after[0], "--force"]
        let own = try await run(last + all("--baseline", before))
        #expect(own.status == 1 && own.output.contains("Each run counts as one value"))
        let two = try await run(last + all("--baseline", Array(before.prefix(2))))
        #expect(two.status == 1 && two.output.contains("count together"))
        for (arguments, sentence) in [
            (all("--from", after), "Several --from have no meaning without --against or"),
            (all("--from", after) + ["--baseline", before[0], "--json", "-"], "--json has no"),
            (last + ["--against", "-", "--against", "-"], "--against and --against cannot both"),
            (last + all("--against", after) + ["--html", after[2]], "--against and --html name"),
        ] {
            let result = try await run(arguments)
            #expect(result.status == 2 && result.output.isEmpty)
            #expect(result.errors.hasPrefix("latchkey: \(sentence)"), "\(result.errors)")
        }
    }

    @Test(arguments: [true, false])
    func `a check that failed is status 1, whatever cannot be compared`(fails: Bool) async throws {
        let folder = try TemporaryFolder()
        let before = try await report(1e6, folder, "a")
        let after = try await report(1e6, folder, "b")
        var report = try ComparisonReport(file: after)
        report.cases[0].strategy = "other"
        if fails { report.verdicts[0].outcome = .failed }
        try Data(report.json()).write(to: URL(filePath: after))
        let result = try await run(["--from", after, "--baseline", before, "--force"])
        #expect(result.status == (fails ? 1 : 2), "\(result.output)")
        #expect(result.errors.contains("no case in common"))
    }

    @Test func `a loss is status 1, unless the threshold allows it`() async throws {
        let folder = try TemporaryFolder()
        let before = try await report(1e6, folder, "a")
        let after = try await report(0.8e6, folder, "b")
        for (more, status) in [
            ([], 1), (["--fail-below", "0.9"], 1), (["--fail-below", "0.5"], 0),
        ] as [([String], Int32)] {
            for sides in [["--from", after, "--baseline"], ["--against", after, "--from"]] {
                let result = try await run(sides + [before, "--force"] + more)
                #expect(result.status == status, "\(more): \(result.output)\(result.errors)")
            }
        }
        let better = try await run(["--from", before, "--baseline", after, "--force"])
        #expect(better.status == 0 && better.output.contains("1 better"))
    }
}
