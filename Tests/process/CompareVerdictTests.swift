import Foundation
import LatchkeyComparison
import LatchkeyReport
import LatchkeyTestSupport
import Testing

/// Where `latchkey compare` puts its verdict, and the wait before a run.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct CompareVerdictTests {
    private func run(
        _ arguments: [String]
    ) async throws -> (status: Int32, output: String, errors: String) {
        try await Program.result(of: arguments)
    }

    @Test func `Markdown goes to standard output, and the table to standard error`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/a.json"
        let result = try await run(CompareTests.quick + ["--json", path, "--markdown", "-"])
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.output.contains("| strategy | 1 | 2 |"))
        #expect(result.output.split(separator: "\n", omittingEmptySubsequences: false).count <= 40)
        #expect(!result.output.contains("Cost of measuring"))
        #expect(result.errors.contains("Cost of measuring"))
        let json = try await run(["compare", "--from", path, "--json", "-"])
        let whole = try String(contentsOfFile: path, encoding: .utf8)
        #expect(json.output == whole)
    }

    @Test func `the changes are written as a page and as Markdown`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/a.json"
        #expect(try await run(CompareTests.least + ["--json", path]).status == 0)
        let against = ["compare", "--from", path, "--against", path, "--force"]
        let result = try await run(
            against + ["--html", folder.path + "/d.html", "--markdown", folder.path + "/d.md"]
        )
        #expect(result.status == 0, "\(result.errors)")
        let page = try String(contentsOfFile: folder.path + "/d.html", encoding: .utf8)
        let text = try String(contentsOfFile: folder.path + "/d.md", encoding: .utf8)
        for found in [page, text, result.output] {
            #expect(found.contains("No difference found beyond the noise."))
        }
        let table = try await run(against + ["--csv", folder.path + "/d.csv"])
        #expect(table.status == 2)
        #expect(table.errors.hasPrefix("latchkey: --csv has no meaning with --against."))
    }

    /// In a process of its own, whose threads for tasks no other test takes.
    @Test func `a run on a busy machine waits, says for whom, and can be interrupted`() async throws
    {
        let busy = Process()
        busy.executableURL = URL(filePath: "/bin/sh")
        busy.arguments = ["-c", "while :; do :; done"]
        try busy.run()
        defer { kill(busy.processIdentifier, SIGKILL) }
        let program = try Program(["compare", "--strategies", "lock", "--threads", "1"])
        let result = try await offPool {
            try program.awaitErrors(containing: "processors busy, most of all '")
            program.signal(SIGINT)
            return program.finish()
        }
        #expect(result.status == 130)
        #expect(result.errors.contains("latchkey: interrupted before anything was finished."))
    }
}
