import Foundation
import LatchkeyComparison
import LatchkeyReport
import LatchkeyTestSupport
import Testing

/// `latchkey compare --transport http` as a process, with services and `wrk` as its children.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct CompareOverHTTPTests {
    private static let command = [
        "compare", "--transport", "http", "--threads", "4", "--force", "--strategies",
    ]
    /// For runs that end while they measure.
    private static let long = command + ["lock,spin", "--duration", "60s", "--repeats", "1"]

    @Test func `without wrk a comparison over HTTP is a sentence and status 2`() async throws {
        let result = try await Program.result(
            of: ["compare", "--transport", "http"],
            environment: ["PATH": "/no-programs"]
        )
        #expect(result.status == 2)
        #expect(result.errors.hasPrefix("latchkey: --transport http needs the program wrk"))
    }

    @Test func `over HTTP the client's figures stand beside the service's`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/a.json"
        let strategies = ["lock", "mutex", "barrier-queue-async"]
        let list = strategies.joined(separator: ",")
        let result = try await Program.result(
            of: Self.command + [list, "--repeats", "1", "--json", path]
        )
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.output.contains("as wrk corrects it"), "the method is stated")
        let report = try ComparisonReport(file: path)
        #expect(report.baselines.map(\.strategy) == ["http-alone"])
        #expect(report.cases.map(\.strategy) == strategies)
        for entry in report.cases {
            #expect(entry.summary.operationsPerSecond.median > 0)
            #expect(entry.summary.response != nil)
            #expect(entry.summary.wait != nil)
            #expect(entry.summary.cpuSecondsPerMillionOperations != nil)
            let measured = try #require(entry.repeats.first?.meteredOperations)
            // As many as the client counted, except for requests that were under way when it
            // stopped.
            #expect(abs(measured - entry.repeats[0].operations) <= 8)
            // A Mutex must not be tried, so it is unknown.
            #expect((entry.repeats[0].contended == nil) == (entry.strategy == "mutex"))
        }
        #expect(report.verdicts.map(\.strategy) == strategies)
        #expect(report.verdicts.allSatisfy { $0.outcome == .passed }, "\(report.verdicts)")
        #expect(!report.isInterrupted)
    }

    /// A script in the place of `wrk` runs it in the warm-up and in the first repeat.
    ///
    /// In the second one it sends nothing and reports three lost connections.
    @Test func `each repeat over HTTP has figures of its own, and lost requests are a finding`()
        async throws
    {
        let folder = try TemporaryFolder()
        let script = """
            #!/bin/sh
            case "$*" in
            *" 0") PATH=${PATH#*:} exec wrk "$@" ;;
            esac
            echo latchkey-load 1000 1000000 0 3 100 90 150 900 1200 5000
            """
        let isWritten = FileManager.default.createFile(
            atPath: folder.path + "/wrk",
            contents: Data(script.utf8),
            attributes: [.posixPermissions: 0o755]
        )
        try #require(isWritten)
        let programs = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let path = folder.path + "/a.json"
        let result = try await Program.result(
            of: Self.command + ["lock", "--repeats", "2", "--seed", "0", "--json", path],
            environment: ["PATH": folder.path + ":" + programs]
        )
        #expect(result.status == 0, "\(result.errors)")
        let report = try ComparisonReport(file: path)
        let repeats = try #require(report.cases.first).repeats.sorted { $0.index < $1.index }
        try #require(repeats.count == 2)
        #expect(try #require(repeats[0].cpuSeconds) > #require(repeats[1].cpuSeconds))
        // Except for requests that were under way when the first one stopped.
        #expect(try #require(repeats[1].meteredOperations) <= 8)
        #expect(report.conditions.ranking == .forced)
        for entry in report.baselines + report.cases {
            #expect(
                report.conditions.findings.contains {
                    $0.hasPrefix("3 requests or connections") && $0.contains(entry.strategy)
                },
                "\(report.conditions.findings)"
            )
        }
    }

    @Test(arguments: CompareTests.interrupts + [SIGKILL])
    func `whatever ends a run over HTTP, its services and wrk end with it`(
        signal: Int32
    ) async throws {
        let folder = try TemporaryFolder()
        let program = try Program(Self.long, environment: ["TMPDIR": folder.path])
        try await offPool {
            // All services are up once the first of the cases is measured.
            try program.awaitErrors(containing: "connections")
            let children = try program.awaitChildren(["latchkey", "latchkey", "wrk"])
            program.signal(signal)
            for child in children { try child.awaitEnd() }
        }
        let result = try await offPool { program.finish() }
        // The status of a process that a signal ended is the signal's number.
        #expect(result.status == (signal == SIGKILL ? SIGKILL : 130))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    @Test func `a service that fails during a run costs what is left of it, not what is finished`()
        async throws
    {
        let folder = try TemporaryFolder()
        let path = folder.path + "/a.json"
        let program = try Program(Self.command + ["lock", "--repeats", "24", "--json", path])
        let result = try await offPool {
            // One service, 24 repeats of two cases and one check are 50: two rounds are done.
            try program.awaitErrors(containing: " 10 % ")
            for child in try program.awaitChildren(["latchkey", "wrk"])
            where child.name == "latchkey" {
                kill(child.identifier, SIGKILL)
            }
            return program.finish()
        }
        #expect(result.status == 2)
        let report = try ComparisonReport(file: path)
        #expect(report.isInterrupted)
        #expect((1..<24).contains(report.cases.first?.repeats.count ?? 0))
        // A read of the metrics or wrk notices it first, depending on time.
        let finding = try #require(
            report.conditions.findings.first { result.errors.contains("latchkey: \($0)\n") }
        )
        #expect(finding.hasPrefix("While "), "in the middle of a measurement")
        let words = result.output.split(whereSeparator: \.isWhitespace)
        #expect(words.contains(finding.split(separator: " ")), "wherever its lines break")
    }

    @Test func `a second interrupt ends a run whose service does not answer`() async throws {
        let program = try Program(Self.long)
        let result = try await offPool {
            try program.awaitErrors(containing: "connections")
            let children = try program.awaitChildren(["latchkey", "latchkey", "wrk"])
            // Stopped services neither drain nor answer.
            let services = children.filter { $0.name == "latchkey" }
            for service in services {
                sendSignal(SIGSTOP, to: service.identifier)
            }
            program.signal(SIGINT)
            // The first one has ended wrk; what is left is to wait for the drain.
            for child in children where child.name == "wrk" { try child.awaitEnd() }
            program.signal(SIGINT)
            for service in services { try service.awaitEnd() }
            return program.finish()
        }
        // The second one, or the end of the bounded wait if that was first.
        #expect([SIGINT, 130].contains(result.status))
    }
}
