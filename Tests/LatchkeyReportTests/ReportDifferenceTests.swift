import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyComparison
@testable import LatchkeyReport

/// Two reports, and what is said to have changed between them.
struct ReportDifferenceTests {
    /// Noise as it is here: every repeat, every round as a whole, and now and then a disturbance.
    private static func noisy(_ seed: UInt64) -> SampleReport {
        var sample = SampleReport(seed: seed, noise: 0.04, roundNoise: 0.03)
        sample.outlierShare = 0.02
        return sample
    }

    /// How much a section that is 20 % longer slows a workload that is mostly section.
    private static func slower(_ kind: StrategyKind, _ threads: Int) -> Double {
        1 / (threads == 1 ? 1.15 : 1.2)
    }

    @Test(arguments: Depth.seeds)
    func `two reports of one build show no difference`(seed: UInt64) throws {
        let before = Self.noisy(seed).make()
        let after = Self.noisy(seed + 1_000).make()
        let difference = try ReportDifference(from: before, against: after)
        let found = difference.rows.filter { $0.verdict != .same }
        #expect(found.map(\.summary) == [])
    }

    @Test(arguments: Depth.seeds)
    func `a section that is 20 % longer is found`(seed: UInt64) throws {
        let before = Self.noisy(seed).make()
        var slow = Self.noisy(seed + 1_000)
        slow.speed = Self.slower
        // Less than 20 %, because the clock's own cost is in every hold.
        slow.holdFactor = 1.15
        let difference = try ReportDifference(from: before, against: slow.make())
        let (isWorse, isBetter) = (
            difference.isWorse, difference.rows.contains { $0.verdict == .better }
        )
        #expect(isWorse && !isBetter)
    }

    @Test(arguments: Depth.seeds)
    func `a single strategy that got slower is found, and no other`(seed: UInt64) throws {
        var quiet = SampleReport(seed: seed, noise: 0.03, roundNoise: 0.02)
        let before = quiet.make()
        quiet.seed += 1_000
        quiet.speed = { kind, threads in kind == .adaptive ? Self.slower(kind, threads) : 1 }
        let difference = try ReportDifference(from: before, against: quiet.make())
        let worse = difference.rows.filter { $0.verdict == .worse }
        #expect(Set(worse.map(\.strategy)) == ["adaptive"], "\(difference.detectableShare)")
    }

    @Test func `a report against itself shows nothing`() throws {
        let report = SampleReport().make()
        let difference = try ReportDifference(from: report, against: report)
        let changed = difference.rows.filter { $0.verdict != .same || $0.change != 0 }
        #expect(changed.map(\.summary) == [])
    }

    @Test func `a change that was made on purpose is said and compared over`() throws {
        let before = SampleReport(workloads: [SampleReport.workload(section: 1_000)]).make()
        var after = SampleReport(workloads: [SampleReport.workload(section: 1_200)], seed: 2)
        after.speed = Self.slower
        let difference = try ReportDifference(from: before, against: after.make())
        let isWorse = difference.isWorse
        #expect(isWorse)
        #expect(
            difference.notes.contains("--section was changed: 1000 ns before, 1200 ns after.")
        )
    }

    @Test func `noise of many threads does not hide what one thread shows`() throws {
        var found = 0
        for seed in 1...20 as ClosedRange<UInt64> {
            let before = SampleReport(seed: seed, noise: 0.03, noiseOfMany: 0.5)
            var after = SampleReport(seed: seed + 100, noise: 0.03, noiseOfMany: 0.5)
            let same = try ReportDifference(from: before.make(), against: after.make())
            #expect(!same.isWorse)
            after.speed = { _, _ in 1 / 1.2 }
            let slower = try ReportDifference(from: before.make(), against: after.make())
            found += slower.isWorse ? 1 : 0
        }
        #expect(found == 20)
    }

    @Test func `a section that is held for longer is found where the throughput hides it`() throws {
        let before = SampleReport(seed: 1)
        let after = SampleReport(seed: 2, holdFactor: 1.2)
        let difference = try ReportDifference(from: before.make(), against: after.make())
        let worse = difference.rows.filter { $0.verdict == .worse }
        #expect(!worse.isEmpty)
        #expect(worse.allSatisfy { $0.figure == .holdMean })
    }

    @Test func `noise widens the least difference that is found`() throws {
        let before = SampleReport(seed: 1).make()
        func after(_ speed: Double) -> ComparisonReport {
            SampleReport(seed: 2, speed: { _, _ in speed }).make()
        }
        func found(_ speed: Double, _ leastRatio: Double) throws -> Bool {
            var after = after(speed)
            after.conditions.leastRatio = leastRatio
            after.conditions.disturbances = ["Other processes kept 0.30 processors busy."]
            let difference = try ReportDifference(from: before, against: after)
            #expect(difference.notes.contains { $0.contains("kept 0.30 processors busy") })
            return difference.rows.contains { $0.figure == .throughput && $0.verdict == .worse }
        }
        #expect(try found(0.75, 1.04))
        #expect(try !found(0.75, 1.6))
        #expect(try found(0.01, 1.6))
    }

    @Test func `7 % count on one thread, and not on several`() throws {
        var quiet = SampleReport(seed: 1, noise: 0.002, roundNoise: 0)
        let before = quiet.make()
        quiet.seed = 2
        quiet.speed = { _, _ in 1 / 1.07 }
        let difference = try ReportDifference(from: before, against: quiet.make())
        let worse = difference.rows.filter { $0.figure == .throughput && $0.verdict == .worse }
        #expect(!worse.isEmpty && worse.allSatisfy(\.isOneThread))
        quiet.speed = { _, _ in 1 / 1.05 }
        let less = try ReportDifference(from: before, against: quiet.make())
        #expect(less.rows.allSatisfy { $0.figure != .throughput || $0.verdict == .same })
    }

    /// As if the report may not be ranked.
    private func busy(_ sample: SampleReport) -> ComparisonReport {
        var report = sample.make()
        report.conditions.ranking = .refused
        report.conditions.findings = ["Other processes kept 1.20 processors busy."]
        return report
    }

    @Test func `on a busy machine only the processor time of one thread is compared`() throws {
        let before = SampleReport(seed: 1, processorTime: { _ in 1 }).make()
        var starved = SampleReport(seed: 2, processorTime: { $0 == 1 ? 1 : 1.5 })
        starved.speed = { _, _ in 0.5 }
        let same = try ReportDifference(from: before, against: busy(starved))
        #expect(same.rows.allSatisfy { $0.figure == .processorTime && $0.verdict == .same })
        #expect(same.notes.contains { $0.contains("--force compares everything") })
        let forced = try ReportDifference(from: before, against: busy(starved), isForced: true)
        #expect(forced.rows.contains { $0.figure == .throughput && $0.verdict == .worse })
        starved.processorTime = { _ in 1.18 }
        let worse = try ReportDifference(from: before, against: busy(starved))
        #expect(worse.rows.contains { $0.figure == .processorTime && $0.verdict == .worse })
    }

    @Test func `on a busy machine without a case of one thread nothing can be compared`() {
        let sample = SampleReport(threads: [2, 4])
        let error = #expect(throws: ReportFileError.self) {
            _ = try ReportDifference(from: sample.make(), against: busy(sample))
        }
        #expect(error?.message.contains("Other processes kept 1.20 processors busy.") == true)
    }

    @Test func `reports without a common case cannot be compared`() {
        let error = #expect(throws: ReportFileError.self) {
            _ = try ReportDifference(
                from: SampleReport(strategies: [.lock]).make(),
                against: SampleReport(strategies: [.spin]).make()
            )
        }
        #expect(error?.message == "The two reports have no case in common.")
    }

    @Test func `a repeat in which nothing was done is the slowest of all`() throws {
        let before = SampleReport(strategies: [.lock, .spin], threads: [1]).make()
        var after = before
        for place in after.cases[0].repeats.indices {
            after.cases[0].repeats[place].operations = 0
            after.cases[0].repeats[place].seconds = 0
        }
        let difference = try ReportDifference(from: before, against: after)
        let row = try #require(
            difference.rows.first { $0.strategy == "lock" && $0.figure == .throughput }
        )
        #expect(row.verdict == .worse)
        #expect(row.after.map { abs($0 - 2.5) < 1e-9 } == true, "half an operation in 0.2 s")
    }

    @Test func `two repeats are too few`() {
        #expect(throws: ReportFileError.self) {
            let report = SampleReport(repeats: 2).make()
            _ = try ReportDifference(from: report, against: report)
        }
    }

    @Test func `in an open loop the response is compared, and not the rate`() throws {
        func report(_ p99: Double, seed: UInt64) -> ComparisonReport {
            SampleReport(strategies: [.lock, .spin], seed: seed).open { _ in p99 }
        }
        let same = try ReportDifference(from: report(1e4, seed: 1), against: report(1e4, seed: 2))
        let isSameWorse = same.isWorse
        #expect(!isSameWorse)
        #expect(same.rows.allSatisfy { $0.figure != .throughput })
        let slow = try ReportDifference(from: report(1e4, seed: 1), against: report(2e4, seed: 2))
        #expect(slow.rows.contains { $0.figure == .responseP99 && $0.verdict == .worse })
    }

    @Test func `reports of another kind do not compare`() {
        let closed = SampleReport(strategies: [.lock]).make()
        let open = SampleReport(strategies: [.lock]).open { _ in 1e4 }
        var wire = closed
        wire.settings.transport = .http
        for (one, other) in [(closed, open), (open, closed), (closed, wire), (wire, open)] {
            #expect(throws: ReportFileError.self) {
                _ = try ReportDifference(from: one, against: other, isForced: true)
            }
        }
    }

    @Test func `a check that was not made before and fails now is worse, one that failed is named`()
        throws
    {
        var after = SampleReport().make()
        after.verdicts[2].outcome = .failed
        var before = after
        let both = try ReportDifference(from: before, against: after)
        let isBothWorse = both.isWorse
        #expect(!isBothWorse)
        #expect(both.notes.contains { $0.hasSuffix("as before.") })
        before.verdicts = []
        let new = try ReportDifference(from: before, against: after)
        let isNewWorse = new.isWorse
        #expect(isNewWorse)
    }

    @Test func `a check that fails now is worse`() throws {
        let before = SampleReport().make()
        var after = before
        after.verdicts[2].outcome = .failed
        let difference = try ReportDifference(from: before, against: after)
        let isWorse = difference.isWorse
        #expect(isWorse)
        #expect(
            difference.text(style: TerminalStyle(width: 80, usesColor: false)).contains("fails")
        )
    }
}

extension ReportDifference.Row {
    fileprivate var summary: String {
        "\(strategy) \(place) \(figure.rawValue) \(change) \(verdict.rawValue)"
    }
}

struct StudentDistributionTests {
    /// From the usual table.
    @Test(arguments: [(1, 12.706, 0.05), (4, 2.776, 0.05), (8, 3.355, 0.01), (30, 3.646, 0.001)])
    func `tails are those of the table`(freedom: Int, value: Double, tails: Double) {
        let student = StudentDistribution(freedom: Double(freedom))
        #expect(abs(student.tails(value) - tails) < tails * 0.001)
        #expect(abs(student.quantile(tails: tails) - value) < value * 0.001)
    }
}
