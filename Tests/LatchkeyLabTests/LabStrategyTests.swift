import Dispatch
import LatchkeyTestSupport
import Synchronization
import Testing

@testable import LatchkeyCommandLine
@testable import LatchkeyComparison
@testable import LatchkeyLab

/// Strategies that a program registers, from the catalogue to the report.
@Suite(.timeLimit(.minutes(15)), .serialized, .offPool)
struct LabStrategyTests {
    @Test func `a registered strategy is measured and checked beside ours`() async throws {
        let lab = Lab()
            .strategy("semaphore-lock", SemaphoreAsLock.self)
            .strategy("whole", RawLockStrategy<SemaphoreAsLock>.self)
            .strategy("queue") { SerialQueueAsyncStrategy() }
        let names = ["semaphore-lock", "whole", "queue", "lock"]
        for keys in [1, 16] {
            let report = try await report(of: lab, strategies: names) {
                $0.keys = [keys]
                $0.stripes = [1, 4]
            }
            #expect(report.cases.map(\.strategy) == names + names)
            #expect(report.cases.allSatisfy { $0.repeats[0].meteredOperations != nil })
            let asynchronous = report.cases.filter { $0.isAsynchronous == true }.map(\.strategy)
            #expect(Set(asynchronous) == ["queue"])
            // Each of them has three checks after the counts of the timed runs.
            #expect(report.verdicts.count == 2 * names.count)
            #expect(report.verdicts.allSatisfy { $0.checkedCount > 0 })
            #expect(report.verdicts.allSatisfy { $0.outcome == .passed }, "\(report.verdicts)")
        }
    }

    @Test func `a strategy that cannot block is measured too`() async throws {
        let lab = Lab().strategy("island") { ActorStrategy() }
        let strategy = try #require(lab.catalogue.strategies.first)
        #expect(strategy.traits.appliesWritesAsynchronously)
        let output = try strategy.slice(LabSlice.make(name: nil))
        #expect(output.wrongCount == 0)
        #expect(output.operationsInAll > 0)
    }

    @Test func `contention of a lock that is never tried is not counted, issue 19`() async throws {
        let lab = Lab().strategy("untried") { RawLockStrategy<UntriedLock>() }
        let report = try await report(of: lab, strategies: ["untried", "lock"])
        #expect(report.cases.map { $0.repeats[0].contended != nil } == [false, true])
    }

    @Test func `the strategies of a program are checked before anything is measured`() async throws
    {
        let lab = Lab().strategy("torn") { TornSpinStrategy() }
        let report = try await report(of: lab, strategies: ["torn", "lock"])
        #expect(report.verdicts.contains { $0.strategy == "torn" && $0.outcome == .failed })
        #expect(report.cases.isEmpty)
        #expect(!report.isInterrupted)
    }

    @Test(arguments: [
        ("", "a name has 1 to 40"), ("my lock", "a name has 1 to 40"),
        ("-x", "a name has 1 to 40"), ("a,b", "a name has 1 to 40"),
        (String(repeating: "x", count: 41), "a name has 1 to 40"),
        ("lock", "that is one of Latchkey's"), ("all", "the name is taken"),
        ("unsynchronized", "the name is taken"), ("twice", "the name is taken"),
    ])
    func `a name that cannot be used is a sentence`(name: String, reason: String) {
        let lab = Lab().strategy("twice", SemaphoreAsLock.self)
            .strategy(name, SemaphoreAsLock.self)
        let error = #expect(throws: ComparisonError.self) { try lab.catalogue.validate() }
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("'\(name)'") == true)
    }

    @Test func `a name at its bound can be used`() throws {
        for name in ["a", String(repeating: "x", count: 40), "My_lock-2.1"] {
            try Lab().strategy(name, SemaphoreAsLock.self).catalogue.validate()
        }
    }

    @Test func `the flags know the strategies of the program, and nothing of HTTP`() throws {
        let catalogue = Lab().strategy("mine", SemaphoreAsLock.self).prepared("bench")
        let flags = CompareFlags.all(catalogue)
        let values = try FlagValues(
            flags,
            command: "bench",
            arguments: ["--strategies", "mine,lock"]
        ) { _ in nil }
        let settings = try CompareFlags.settings(values, catalogue)
        #expect(settings.strategies.map(\.rawValue) == ["mine", "lock"])
        #expect(settings.commandLine.hasPrefix("bench --strategies mine,lock "))
        let all = try CompareFlags.settings(
            FlagValues(flags, command: "bench", arguments: []) { _ in nil },
            catalogue
        )
        #expect(all.strategies.first?.rawValue == "mine")
        #expect(all.strategies.count == 1 + StrategyKind.allCases.count)
        #expect(!flags.contains { $0.name == "transport" })
        #expect(CompareCommand.manual(catalogue).contains("mine"))
        #expect(throws: UsageError.self) {
            try FlagValues(flags, command: "bench", arguments: ["--strategies", "hers"])
        }
    }
}

/// The whole program, in a process of its own.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct LabProcessTests {
    @Test func `a lab that finds nothing wrong ends with 0`() async throws {
        let result = await #expect(
            processExitsWith: .exitCode(0),
            observing: [\.standardOutputContent]
        ) {
            Lab().strategy("mine", SemaphoreAsLock.self).run(labArguments("mine,lock"))
        }
        let text = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
        #expect(text.contains("mine"))
        #expect(text.contains("All 4 checks passed"))
    }

    @Test func `a lost update is status 1, with the strategy's name`() async throws {
        let result = await #expect(
            processExitsWith: .exitCode(1),
            observing: [\.standardOutputContent]
        ) {
            Lab().strategy("torn") { TornSpinStrategy() }.run(labArguments("torn,lock"))
        }
        let text = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
        #expect(text.contains("torn: "))
        #expect(text.contains("failed."))
    }

    @Test func `a deadlock is found within ten seconds, with the strategy's name`() async throws {
        let result = await #expect(
            processExitsWith: .exitCode(1),
            observing: [\.standardOutputContent]
        ) {
            Lab().strategy("stuck", ForgetfulLock.self).run(labArguments("stuck,lock"))
        }
        let text = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
        #expect(text.contains("stuck: laws failed. An operation did not return within 8 s."))
        #expect(BoundedWait.secondsForOwn < 10)
    }

    @Test func `a hang that comes while measuring is status 1, with the strategy's name`() async {
        let result = await #expect(
            processExitsWith: .exitCode(1),
            observing: [\.standardOutputContent]
        ) {
            let workload = Workload("hanging", value: 0) { _, _ in
            } write: { value, operation in
                value += 1
                if operation.number == 100 {
                    LockThatHangsLater.hangs.store(true, ordering: .relaxed)
                }
            }
            // The baseline, which comes first, runs the body as well.
            Lab(workload).strategy("later", LockThatHangsLater.self)
                .run(labArguments("later,lock") + ["--read-ratio", "0"])
        }
        let text = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
        #expect(text.contains("later: counts failed. With later"))
        #expect(text.contains("an operation did not return within 8 s; the run ended there."))
    }

    @Test func `a bad command line and a bad name are status 2`() async throws {
        await #expect(processExitsWith: .exitCode(2)) {
            Lab().strategy("mine", SemaphoreAsLock.self).run(["--hope"])
        }
        await #expect(processExitsWith: .exitCode(2)) {
            Lab().strategy("mine", SemaphoreAsLock.self).run(["--transport", "http"])
        }
        let result = await #expect(
            processExitsWith: .exitCode(2),
            observing: [\.standardErrorContent]
        ) {
            Lab().strategy("spin", SemaphoreAsLock.self).run([])
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("cannot be called 'spin': that is one of Latchkey's."))
    }
}
