import LatchkeyComparison
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyCommandLine
@testable import latchkey

/// Units of flags, output to `-`, and the announcement of a long run.
@Suite(.timeLimit(.minutes(3)), .serialized)
struct CompareFlagTests {
    private func run(
        _ arguments: [String]
    ) async throws -> (status: Int32, output: String, errors: String) {
        try await Program.result(of: arguments)
    }

    private func settings(_ arguments: [String]) throws -> ComparisonSettings {
        let values = try FlagValues(
            CompareFlags.all,
            command: "latchkey compare",
            arguments: arguments
        ) {
            _ in nil
        }
        return try CompareFlags.settings(values)
    }

    @Test func `times have units, and a number without one means what it meant`() throws {
        let timed = try settings([
            "--section", "50,75ns,1us,10µs", "--outside", "200,scaled:1us,2ms",
            "--duration", "20000us",
        ])
        #expect(timed.sectionNanoseconds == [50, 75, 1_000, 10_000])
        #expect(timed.outside.map(\.rawValue) == ["200", "scaled:1000", "2000000"])
        #expect(timed.durationSeconds == 0.02)
        let range = try settings(["--section", "1us..8us"])
        #expect(range.sectionNanoseconds == [1_000, 2_000, 4_000, 8_000])
        #expect(try settings(["--duration", "2"]).durationSeconds == 2)
        #expect(try settings(["--duration", "0.5m"]).durationSeconds == 30)
        for bad in ["0.5ns", "1 us", "11ms", "us"] {
            #expect(throws: UsageError.self, "\(bad)") { try settings(["--section", bad]) }
            #expect(throws: UsageError.self, "\(bad)") { try settings(["--outside", bad]) }
        }
    }

    @Test func `a run of more than five minutes says how long it takes, and why`() async throws {
        var long = ComparisonSettings()
        (long.strategies, long.threads, long.repeats) = ([.lock, .spin], [1, 2, 4], 1000)
        long.readRatios = [0, 0.5]
        let planned = try ComparisonRun(long, version: "")
        #expect(planned.announcement(seconds: 300) == nil)
        let sentence = try #require(planned.announcement(seconds: 4_430))
        #expect(
            sentence.hasPrefix(
                "the run takes about 1 h 13 min: 20 cases × 1000 repeats × 90 ms, warm-up, "
                    + "metering, rounds of short slices and checks included. The cases are all "
                    + "combinations of 2 strategies and the baselines, 3 numbers of threads and "
                    + "2 workloads."
            )
        )
        long.arrival = .open(operationsPerSecond: 20_000)
        let open = try ComparisonRun(long, version: "")
        let text = try #require(open.announcement(seconds: 4_430))
        #expect(text.contains(" warm-up, metering and checks "))
        let program = try Program([
            "compare", "--strategies", "lock", "--threads", "1", "--repeats", "1000", "--force",
        ])
        let status = try await offPool {
            try program.awaitErrors(containing: "latchkey: the run takes about 6 min")
            return program.end()
        }
        #expect(status == 130)
        #expect(try await !run(CompareTests.least).errors.contains("the run takes"))
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
        let twice = try await run(CompareTests.least + ["--json", "-", "--csv", "-"])
        #expect(twice.status == 2)
        #expect(twice.errors.hasPrefix("latchkey: --json and --csv name the same file.\n"))
    }
}
