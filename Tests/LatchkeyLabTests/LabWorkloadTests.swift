import Glibc
import LatchkeyTestSupport
import Testing

@testable import LatchkeyCommandLine
@testable import LatchkeyComparison
@testable import LatchkeyLab
@testable import LatchkeyReport

/// Workloads that a program brings.
@Suite(.timeLimit(.minutes(15)), .serialized, .offPool)
struct LabWorkloadTests {
    /// Counts its writes, and one place for each key.
    private struct Tally: Sendable {
        var writes = 0
        var places: [Int]
    }

    private func tally(
        losing lost: Int = .max,
        check: (@Sendable (Tally, WorkloadCounts) -> Bool)? = nil
    ) -> Workload<Tally> {
        Workload("tally", value: Tally(places: Array(repeating: 0, count: 8))) { tally, operation in
            operation.keep(tally.places[operation.key])
        } write: { tally, operation in
            tally.places[operation.key] += 1
            if operation.number % lost != lost - 1 { tally.writes += 1 }
        } check: { tally, counts in
            check?(tally, counts)
                ?? (tally.writes == counts.writes && tally.places.reduce(0, +) == counts.writes)
        }
    }

    @Test func `every strategy is measured with the program's own value`() async throws {
        let lab = Lab(tally()).strategy("mine", SemaphoreAsLock.self)
        let names = ["mine"] + StrategyKind.allCases.map(\.rawValue)
        let report = try await report(of: lab, strategies: names) {
            $0.threads = [1, 2]
            $0.keys = [8]
            $0.readRatios = [0.5]
        }
        #expect(report.cases.count == 2 * names.count)
        #expect(report.cases.allSatisfy { $0.workload.name == "tally" })
        #expect(report.cases.allSatisfy { $0.sectionSteps == nil })
        #expect(report.baselines.map(\.strategy) == ["unsynchronized"])
        #expect(report.settings.workload == "tally")
        let checks = report.verdicts.filter { $0.check == .workload }
        #expect(checks.map(\.strategy) == names)
        #expect(checks.allSatisfy { $0.outcome == .passed && $0.checkedCount > 0 }, "\(checks)")
        let text = TerminalReport(report, style: TerminalStyle(width: 100, usesColor: false)).text
        #expect(text.contains("'tally'"))
        #expect(!text.contains("section"))
        let json = try report.json()
        #expect(try ComparisonReport(json: json, source: "it").cases == report.cases)
    }

    @Test func `a planted bug in a workload is found by its check`() async throws {
        let report = try await report(of: Lab(tally(losing: 100)), strategies: ["lock"])
        let verdict = try #require(report.verdicts.first { $0.check == .workload })
        #expect(verdict.outcome == .failed)
        #expect(verdict.finding?.contains("'tally'") == true)
        // It is not the strategy's doing, and the baseline says so.
        #expect(report.conditions.findings.contains { $0.contains("without a lock") })
    }

    @Test func `a strategy that lets two writers in is found by the check`() async throws {
        // The checks of the strategy itself are left out, because they find it first.
        let workload = Workload("counter", value: 0) { _, _ in
        } write: { count, operation in
            let before = count
            if operation.number.isMultiple(of: 16) { sched_yield() }
            count = before + 1
        } check: { count, counts in
            count == counts.writes
        }
        let lab = Lab(workload).strategy("none", NoLock.self)
        let strategy = try #require(lab.catalogue.strategy(StrategyName(rawValue: "none")))
        let wrongCount = try strategy.slice(LabSlice.make(name: "counter")).wrongCount
        #expect(wrongCount == 1)
    }

    @Test func `a failed expectation of a body fails the check`() async throws {
        let workload = Workload("odd", value: 0) { _, operation in
            operation.expect(operation.number < 100)
        } write: { value, _ in
            value += 1
        }
        let report = try await report(of: Lab(workload), strategies: ["lock"])
        #expect(report.verdicts.first { $0.check == .workload }?.outcome == .failed)
    }

    @Test func `operations are numbered, by thread, and their keys are in range`() async throws {
        let workload = Workload("numbers", value: [Int: Int]()) { _, operation in
            operation.expect((0..<8).contains(operation.key))
        } write: { last, operation in
            operation.expect((0..<8).contains(operation.key))
            operation.expect((0..<2).contains(operation.thread))
            operation.expect(last[operation.thread, default: -1] < operation.number)
            last[operation.thread] = operation.number
        }
        let report = try await report(of: Lab(workload), strategies: ["lock", "snapshot"]) {
            $0.threads = [2]
            $0.keys = [8]
            $0.skews = [.zipf(exponent: 1)]
        }
        let checks = report.verdicts.filter { $0.check == .workload }
        #expect(checks.map(\.outcome) == [.passed, .passed], "\(checks)")
    }

    @Test func `random numbers differ by thread and by number`() {
        let expectations = Expectations()
        let numbers = (0..<4).flatMap { thread in
            (0..<1_000).map { number in
                WorkloadOperation(key: 0, number: number, thread: thread, expectations).random
            }
        }
        #expect(Set(numbers).count == numbers.count)
        #expect(abs(numbers.count { $0.isMultiple(of: 2) } - 2_000) < 200)
    }

    @Test func `a workload has no flags of the built-in section`() throws {
        let catalogue = Lab(tally()).prepared("bench")
        let flags = CompareFlags.all(catalogue).map(\.name)
        #expect(!flags.contains { ["preset", "section", "stripes"].contains($0) })
        #expect(flags.contains("keys"))
        #expect(CompareCommand.manual(catalogue).contains("the workload 'tally'"))
    }

    @Test(arguments: ["", "a\u{1B}[2J", String(repeating: "x", count: 61)])
    func `a workload's name is short and printable`(name: String) {
        let lab = Lab(
            Workload(name, value: 0) { _, _ in
            } write: { _, _ in
            }
        )
        #expect(throws: ComparisonError.self) { try lab.catalogue.validate() }
    }
}
