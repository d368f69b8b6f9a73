import Foundation
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyComparison
@testable import LatchkeyReport

/// Several runs of one build against several of another.
struct SeveralReportsTests {
    /// Runs of one build, of which each is faster or slower in each case by something of its own.
    private static func runs(
        _ count: UInt64,
        seed: UInt64,
        spread: Double = 0.12,
        speed: Double = 1
    ) -> [ComparisonReport] {
        (0..<count).map { run in
            let own = seed * 100 + run
            return SampleReport(seed: own, noise: 0.01) { kind, threads in
                let name = UInt64(StrategyKind.allCases.firstIndex(of: kind) ?? 0)
                var random = SeededRandom(seed: own << 16 + name << 8 + UInt64(threads))
                return speed * exp(spread * random.normal())
            }.make()
        }
    }

    @Test(arguments: Depth.seeds)
    func `runs that differ by more than their repeats are no difference between builds`(
        seed: UInt64
    ) throws {
        let (before, after) = (Self.runs(3, seed: seed), Self.runs(3, seed: seed + 1_000))
        let one = try ReportDifference(from: before[0], against: after[0])
        #expect(one.rows.contains { $0.verdict != .same }, "repeats do not know of it")
        let all = try ReportDifference(from: before, against: after)
        #expect(all.rows.filter { $0.verdict != .same }.map(\.strategy) == [])
        #expect(all.notes.contains { $0.hasPrefix("Each run counts as one value") })
        #expect(all.rows.allSatisfy { $0.after.allSatisfy { $0.count == 3 } })
    }

    @Test(arguments: Depth.seeds)
    func `a strategy that is slower in every run is found among such runs`(seed: UInt64) throws {
        let before = Self.runs(5, seed: seed, spread: 0.04)
        let after = Self.runs(5, seed: seed + 1_000, spread: 0.04, speed: 0.8)
        #expect(try ReportDifference(from: before, against: after).isWorse)
        #expect(try ReportDifference(from: before, against: after, failBelow: 0.9).isWorse)
        #expect(try !ReportDifference(from: before, against: after, failBelow: 0.7).isWorse)
    }

    @Test func `the repeats of fewer reports count together`() throws {
        let (before, after) = (Self.runs(2, seed: 1), Self.runs(2, seed: 2))
        let all = try ReportDifference(from: before, against: after)
        #expect(all.rows[0].before.map(\.count) == [10] && all.rows[0].after.map(\.count) == [10])
        #expect(all.notes.contains { $0.hasPrefix("The repeats of all reports of a side count") })
        #expect(
            all.heading.contains(" (2 reports) against ") && all.heading.contains(" (2 reports), ")
        )
        // Two repeats of one report are too few, and of two they are not.
        let few = SampleReport(repeats: 2).make()
        #expect(try !ReportDifference(from: [few, few], against: [few, few]).isWorse)
        let note = "count together"
        let plain = try ReportDifference(from: before[0], against: after[0])
        #expect(!plain.notes.contains { $0.contains(note) || $0.contains("Each run") })
    }

    /// As in continuous integration, where what was measured is one run.
    @Test(arguments: Depth.seeds)
    func `one run is taken to vary as those of the baseline do`(seed: UInt64) throws {
        let before = Self.runs(8, seed: seed)
        let after = Self.runs(1, seed: seed + 1_000)
        #expect(try !ReportDifference(from: before, against: after).isWorse)
        #expect(try !ReportDifference(from: before, against: after, failBelow: 1).isWorse)
        let slow = Self.runs(1, seed: seed + 2_000, spread: 0.01, speed: 0.4)
        let steady = Self.runs(8, seed: seed, spread: 0.01)
        #expect(try ReportDifference(from: steady, against: slow, failBelow: 0.9).isWorse)
    }

    @Test func `the reports of one side are of one machine and of one kind`() throws {
        let report = SampleReport(strategies: [.lock]).make()
        var other = report
        other.fingerprint.processorModel = "Other"
        let sides = [([report, other], [report]), ([report], [other, report])]
        for (before, after) in sides {
            let error = #expect(throws: ReportFileError.self) {
                _ = try ReportDifference(from: before, against: after)
            }
            #expect(error?.message.contains("The processor differs: ") == true)
        }
        let open = SampleReport(strategies: [.lock]).open { _ in 1e4 }
        #expect(throws: ReportFileError.self) {
            _ = try ReportDifference(from: [report, open], against: [report], isForced: true)
        }
        other = report
        other.fingerprint.kernel = "9.0"
        let notes = try ReportDifference(from: [report, other], against: [report]).notes
        #expect(notes.contains("The kernel differs: 6.18.0 and 9.0 before, 6.18.0 after."))
    }

    @Test func `a case that a report lacks is not compared, and one check of many can fail`() throws
    {
        let both = SampleReport(strategies: [.lock, .spin], threads: [1]).make()
        let one = SampleReport(strategies: [.lock], threads: [1]).make()
        let few = try ReportDifference(from: [both, one], against: [both, both])
        #expect(Set(few.rows.map(\.strategy)) == ["lock"])
        #expect(few.notes.contains("Not in every report, and not compared: 3 cases."))
        var broken = both
        broken.verdicts[0].outcome = .failed
        let new = try ReportDifference(from: [both], against: [both, broken, broken])
        #expect(new.isWorse && new.newFailures.count == 1)
        let old = try ReportDifference(from: [broken, both], against: [both, broken])
        #expect(!old.isWorse && old.notes.contains { $0.hasSuffix("as before.") })
    }
}
