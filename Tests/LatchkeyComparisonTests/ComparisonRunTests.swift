import Dispatch
import Foundation
import LatchkeyContention
import LatchkeyMachine
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyComparison
@testable import LatchkeyReport

@Suite(.timeLimit(.minutes(15)), .serialized, .offPool)
struct ComparisonRunTests {
    private func settings(
        _ change: (inout ComparisonSettings) -> Void = { _ in }
    ) -> ComparisonSettings {
        var settings = ComparisonSettings()
        settings.strategies = [.lock]
        settings.threads = [1, 2]
        settings.durationSeconds = 0.01
        settings.repeats = 2
        change(&settings)
        return settings
    }

    private func report(
        _ settings: ComparisonSettings,
        interruptedAfter count: Int = .max
    ) async throws -> ComparisonReport {
        let run = try ComparisonRun(settings, version: "test")
        let seen = Collected(0)
        return try run.run(
            isInterrupted: { seen.with { $0 } >= count },
            progress: { _ in seen.with { $0 += 1 } }
        ).report
    }

    @Test func `both baselines are in every report, and system calls or why not`() async throws {
        let report = try await report(settings())
        #expect(
            report.baselines.map { "\($0.strategy) \($0.threads)" }
                == ["unsynchronized 1", "bare-mutex 1", "bare-mutex 2"]
        )
        let isMissing = report.instrument.systemCallsMissingBecause != nil
        for measured in report.cases.flatMap(\.repeats) {
            #expect((measured.systemCalls == nil) == isMissing)
        }
    }

    @Test func `the calibration is in the report`() async throws {
        let report = try await report(
            settings {
                $0.sectionNanoseconds = [1_000]
                $0.outside = [OutsideWork(nanoseconds: 1_000, scalesWithThreads: true)]
            }
        )
        let step = try #require(report.instrument.stepNanoseconds)
        for found in report.cases + report.baselines {
            let outside = found.workload.outside.nanoseconds(threads: found.threads)
            #expect(found.sectionSteps == Int((1_000 / step).rounded()))
            #expect(found.outsideSteps == Int((Double(outside) / step).rounded()))
        }
        var other = report
        #expect(!CaseMatching([report], [other]).notes.contains { $0.contains("step of work") })
        other.instrument.stepNanoseconds = step * 1.2
        #expect(CaseMatching([report], [other]).notes.contains { $0.contains("step of work") })
        #expect(CaseMatching([other], [report]).notes.contains { $0.contains("step of work") })
        other.instrument.stepNanoseconds = nil
        #expect(!CaseMatching([report], [other]).notes.contains { $0.contains("step of work") })
    }

    @Test func `an interrupted run has what was finished`() async throws {
        let report = try await report(settings(), interruptedAfter: 5)
        #expect(report.isInterrupted)
        let repeats = (report.baselines + report.cases).reduce(0) { $0 + $1.repeats.count }
        #expect((1...4).contains(repeats))
        #expect(report.conditions.ranking == .refused)
    }

    @Test func `progress starts at nothing, never goes back and ends with all, in rotated order`()
        async throws
    {
        let settings = settings {
            $0.strategies = [.lock, .mutex]
            $0.repeats = 3
        }
        let run = try ComparisonRun(settings, version: "test")
        let seen = Collected<[ComparisonProgress]>([])
        _ = try run.run(progress: { progress in seen.with { $0.append(progress) } })
        let all = seen.with { $0 }
        #expect(all.first?.finishedCount == 0)
        #expect(all.first?.remainingSeconds != nil)
        #expect(all.last?.finishedCount == all.last?.totalCount)
        #expect(all.last?.remainingSeconds == 0)
        #expect(zip(all, all.dropFirst()).allSatisfy { $0.finishedCount <= $1.finishedCount })
        let schedule = Schedule(settings)
        let planned = (0..<schedule.repeats).flatMap { schedule.order(ofRepeat: $0) }
            .map { schedule.cases[$0].label }
        let repeats = all.map(\.current).dropFirst().filter { !$0.hasPrefix("round ") }
        #expect(repeats.prefix(planned.count) == planned[...])
    }
}

@Suite struct ScheduleTests {
    private let schedule: Schedule = {
        var settings = ComparisonSettings()
        settings.repeats = 5
        return Schedule(settings)
    }()

    @Test func `each repeat has every case once`() {
        for index in 0..<schedule.repeats {
            #expect(schedule.order(ofRepeat: index).sorted() == Array(schedule.cases.indices))
        }
    }

    @Test func `no case is in the same place twice, or always after the same one`() {
        let orders = (0..<schedule.repeats).map { schedule.order(ofRepeat: $0) }
        for index in schedule.cases.indices {
            let places = orders.compactMap { $0.firstIndex(of: index) }
            #expect(Set(places).count > schedule.repeats / 2)
            let before = zip(orders, places).map { $1 > 0 ? $0[$1 - 1] : -1 }
            #expect(Set(before).count > 1)
        }
    }
}

@Suite(.timeLimit(.minutes(15)), .offPool)
struct SliceTests {
    private func slice(
        threads: Int,
        _ workload: ComparisonReport.Workload,
        isMetered: Bool = false
    ) -> Slice {
        Slice(
            workload: workload,
            plans: (0..<threads).map { OperationPlan(workload, seed: UInt64($0)) },
            cost: OperationCost(work: Work(seed: 1), sectionSteps: 30, outsideSteps: 10),
            warmUpNanoseconds: 2_000_000,
            measuredNanoseconds: 60_000_000,
            isMetered: isMetered
        )
    }

    /// A thread waits before it is at the start line, as if it was never made.
    @Test(arguments: [false, true])
    func `a thread that does not start ends the slice, and so does an interrupt`(
        isInterrupted: Bool
    ) {
        var slice = slice(threads: 3, workload())
        slice.startSeconds = isInterrupted ? 600 : 0.05
        slice.isInterrupted = { isInterrupted }
        let guarded = Synchronized<OneValue, LockStrategy>(OneValue(count: 1))
        let section = SyntheticSection<OneValue>(slice)
        let start = DispatchSemaphore(value: 0)
        defer { start.signal() }
        let error = #expect(throws: MeasurementFailure.self) {
            try slice.run { thread, _ in
                if thread == 1 { start.wait() }
                return AnyOperator(OneStripeOperator(guarded, section))
            }
        }
        switch error {
        case .interrupted: #expect(isInterrupted)
        case .failed(let cause):
            #expect(!isInterrupted)
            let pattern = /Only [0-2] of 3 threads started within 50 ms\. Raise .* 'ulimit -u'\./
            #expect(cause.message.wholeMatch(of: pattern) != nil, "\(cause)")
        case _: Issue.record("\(String(describing: error))")
        }
    }

    @Test func `an update that is lost is found in the final values`() async throws {
        let workload = workload(readRatio: 0)
        let slice = slice(threads: 4, workload)
        let guarded = Synchronized<ForgetfulValue, LockStrategy>(ForgetfulValue(count: 1))
        let section = SyntheticSection<ForgetfulValue>(slice)
        let result = try slice.run { _, _ in
            AnyOperator(OneStripeOperator(guarded, section))
        }
        let value = guarded.read { $0.value(0) }
        let operations = result.tallies.reduce(0) { $0 + $1.operationsInAll }
        #expect(slice.wrongKeys(result) { _ in value } == (operations > 0 ? 1 : 0))
    }

    @Test func `a guarded value comes out as the writes to it say`() async throws {
        let workload = workload(readRatio: 0.5, keys: 10, stripes: 4)
        let slice = slice(threads: 3, workload, isMetered: true)
        let output = try OwnWorkload.builtIn.slice(.lock, slice)
        #expect(output.wrongCount == 0)
        #expect(output.operations > 0)
        let row = try #require(output.contention)
        #expect(row.acquisitions.all >= UInt64(output.operations))
    }

    @Test func `the baselines are checked as the strategies are`() async throws {
        for keys in [1, 10] {
            let workload = workload(readRatio: 0.5, keys: keys, stripes: 4)
            let (alone, together) = (slice(threads: 1, workload), slice(threads: 3, workload))
            let outputs = [try OwnWorkload.builtIn.unsynchronized(alone), try together.bareMutex()]
            #expect(outputs.map(\.wrongCount) == [0, 0])
            // The values are wrong if a thread did more operations than they show.
            var result = outputs[0]
            result.tallies[0].operationsInAll += alone.plans[0].operations.count
            let slots = (0..<4).map { ManyValues(count: alone.keyCount(stripe: $0)) }
            #expect(SyntheticSection<ManyValues>(alone).wrongCount(slots, result, alone) > 0)
        }
    }

    @Test func `a baseline that lost updates is a finding, and nothing is ranked`() async throws {
        var settings = ComparisonSettings()
        settings.strategies = [.lock]
        let run = try ComparisonRun(settings, version: "test")
        let planned = try #require(
            run.schedule.cases.first { $0.subject == .baseline(.bareMutex) }
        )
        let result = SliceResult(tallies: [WorkerTally()])
        var method = MemoryComparison(settings, run.schedule)
        func note(wrongCount: Int) {
            var result = result
            result.wrongCount = wrongCount
            method.note(result, planned)
        }
        note(wrongCount: 0)
        #expect(method.findings == [])
        note(wrongCount: 1)
        #expect(method.verdicts.isEmpty)
        let report = run.report(
            ComparisonRun.Measured(repeats: run.schedule.cases.map { _ in [] }),
            by: method,
            startedAt: .now,
            from: MachineReading.now(),
            fingerprint: ComparisonReport.Fingerprint(
                version: "test",
                mutex: ComparisonReport.MutexObservation(kind: .unknown, evidence: "")
            )
        )
        let finding = try #require(method.findings.first)
        #expect(finding.hasPrefix("The baseline bare-mutex lost updates"))
        #expect(report.conditions.findings.contains(finding))
        #expect(report.conditions.ranking == .refused)
    }

    @Test func `threads that were kept out count as nothing`() {
        var tallies = [WorkerTally(), WorkerTally()]
        tallies[0].operations = 1_000
        tallies[0].nanoseconds = 1_000_000_000
        let result = SliceResult(tallies: tallies)
        #expect(result.operationsPerSecond == 1_000)
        #expect(Statistics.jainIndex(tallies.map { Double($0.operations) }) == 0.5)
    }
}

@Suite struct ResponseTimesTests {
    @Test func `a bucket's bound is within a sixteenth of what is in it`() throws {
        for nanoseconds: UInt64 in [0, 1, 15, 16, 17, 31, 32, 100, 12_345, 1_000_000_007] {
            let times = ResponseTimes()
            times.record(nanoseconds)
            // Longer than all, so that it does not bound the quantile.
            times.record(.max >> 1)
            let bound = UInt64(try #require(times.durations()).p50Nanoseconds)
            #expect(bound >= nanoseconds)
            #expect(Double(bound) <= Double(nanoseconds) * 17 / 16 + 1)
        }
    }

    @Test func `quantiles of several threads are of all together`() throws {
        let times = ResponseTimes()
        let ended = TestThread.run(2) { thread in
            for value in 1...1_000 as ClosedRange<UInt64> where Int(value % 2) == thread {
                times.record(value * 1_000)
            }
        }
        #expect(ended)
        let durations = try #require(times.durations())
        #expect(durations.timedCount == 1_000)
        #expect(durations.maxNanoseconds == 1_000_000)
        #expect(abs(durations.p50Nanoseconds / 500_000 - 1) < 0.07)
        #expect(abs(durations.p99Nanoseconds / 990_000 - 1) < 0.07)
        #expect(durations.p999Nanoseconds != nil)
    }

    @Test func `few values have no quantile of one in a thousand`() throws {
        let times = ResponseTimes()
        for value in 1...999 as ClosedRange<UInt64> { times.record(value) }
        #expect(try #require(times.durations()).p999Nanoseconds == nil)
    }
}

/// A value whose first change is lost.
private struct ForgetfulValue: GuardedValues {
    static var canBeStriped: Bool { true }

    private var slot: OneValue
    private var isFirst = true

    init(count: Int) {
        slot = OneValue(count: count)
    }

    mutating func write(_ index: Int, work: Work, steps: Int) -> UInt64 {
        guard isFirst else { return slot.write(index, work: work, steps: steps) }
        isFirst = false
        return slot.read(index, work: work, steps: steps)
    }

    func read(_ index: Int, work: Work, steps: Int) -> UInt64 {
        slot.read(index, work: work, steps: steps)
    }

    func value(_ index: Int) -> UInt64 { slot.value(index) }
}
