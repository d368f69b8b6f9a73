import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyComparison
@testable import LatchkeyReport

/// Two reports, and the changes that are found between them.
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
        #expect(difference.notes == [])
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

    @Test(arguments: [(0.02, true), (0.5, false)])
    func `other load on one run only is not blamed on the change`(
        foreign: Double,
        isFound: Bool
    ) throws {
        let before = SampleReport(seed: 1).make()
        func difference(_ speed: Double, both: Bool = false) throws -> ReportDifference {
            var (old, after) = (before, SampleReport(seed: 2, speed: { _, _ in speed }).make())
            after.conditions.foreignProcessors = foreign
            if both { old.conditions.foreignProcessors = foreign }
            after.conditions.disturbances = ["Other processes kept 0.50 processors busy."]
            return try ReportDifference(from: old, against: after)
        }
        func isSlower(_ difference: ReportDifference) -> Bool {
            difference.rows.contains { $0.figure == .throughput && $0.verdict == .worse }
        }
        let some = try difference(0.75)
        #expect(some.notes.contains { $0.contains("kept 0.50 processors busy") })
        #expect(isSlower(some) == isFound)
        #expect(try isSlower(difference(0.01)), "no load takes that much")
        #expect(try isSlower(difference(0.75, both: true)), "it was the same for both")
    }

    @Test(arguments: [
        (\ComparisonReport.Fingerprint.processorsAllowed, "0", "list of processors that may"),
        (\ComparisonReport.Fingerprint.architecture, "aarch64", "architecture"),
        (\ComparisonReport.Fingerprint.processorModel, "Other", "processor"),
    ])
    func `another machine is said, in place of blaming the change`(
        fact: any WritableKeyPath<ComparisonReport.Fingerprint, String?> & Sendable,
        value: String,
        name: String
    ) throws {
        var before = SampleReport(seed: 1).make()
        before.fingerprint.processorsAllowed = "0-1"
        var after = SampleReport(seed: 2, speed: { _, _ in 0.5 }).make()
        after.fingerprint = before.fingerprint
        after.fingerprint[keyPath: fact] = value
        let error = #expect(throws: ReportFileError.self) {
            _ = try ReportDifference(from: before, against: after)
        }
        #expect(error?.message.contains("so the change is not to blame") == true)
        #expect(error?.message.contains("The \(name)") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains(" before, \(value) after. --force") == true)
        let forced = try ReportDifference(from: before, against: after, isForced: true)
        #expect(forced.isWorse && forced.notes[0].contains("differs: "))
        // An earlier version did not record it.
        after.fingerprint[keyPath: fact] = nil
        #expect(try ReportDifference(from: before, against: after).isWorse)
    }

    @Test func `another quota is another machine, and another version is only said`() throws {
        let before = SampleReport(seed: 1).make()
        var after = SampleReport(seed: 2).make()
        after.fingerprint.latchkeyVersion = "0.2.0"
        #expect(
            try ReportDifference(from: before, against: after).notes.contains(
                "The version of latchkey differs: 0.1.0 before, 0.2.0 after."
            )
        )
        after.fingerprint.processorQuota = 0.5
        let error = #expect(throws: ReportFileError.self) {
            _ = try ReportDifference(from: before, against: after)
        }
        #expect(
            error?.message.contains("The quota of processors differs: none before, 0.50 after.")
                == true
        )
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

    @Test func `a report that may not be ranked is compared by force only`() throws {
        let before = SampleReport(seed: 1).make()
        var after = SampleReport(seed: 2, speed: { _, _ in 0.5 }).make()
        after.conditions.findings = ["This is a debug build."]
        for (one, other) in [(before, after), (after, before)] {
            let error = #expect(throws: ReportFileError.self) {
                _ = try ReportDifference(from: one, against: other)
            }
            #expect(error?.message.contains("This is a debug build. --force") == true)
        }
        #expect(try ReportDifference(from: before, against: after, isForced: true).isWorse)
    }

    @Test func `load explains much, and hardly the processor time of one thread`() throws {
        let before = SampleReport(seed: 1, processorTime: { _ in 1 }).make()
        func worse(_ times: Double) throws -> [ReportDifference.Row] {
            var after = SampleReport(seed: 2, processorTime: { _ in times }).make()
            after.conditions.foreignProcessors = 0.5
            return try ReportDifference(from: before, against: after).rows.filter {
                $0.verdict == .worse
            }
        }
        #expect(try worse(1.08).isEmpty)
        let found = try worse(1.18)
        #expect(!found.isEmpty && found.allSatisfy { $0.isOneThread })
        #expect(found.allSatisfy { $0.figure == .processorTime })
    }

    @Test func `reports without a common case cannot be compared`() {
        let error = #expect(throws: ReportFileError.self) {
            _ = try ReportDifference(
                from: SampleReport(strategies: [.lock]).make(),
                against: SampleReport(strategies: [.spin]).make()
            )
        }
        #expect(error?.message == "The reports have no case in common.")
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
        #expect(row.cells[4].text == "2.50/s", "half an operation in 0.2 s")
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
