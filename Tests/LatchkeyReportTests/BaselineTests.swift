import LatchkeyStrategies
import Testing

@testable import LatchkeyComparison
@testable import LatchkeyReport

/// A threshold for a loss, and reasons that forbid a comparison before anything is measured.
struct BaselineTests {
    private static func steady(_ seed: UInt64, _ speed: Double = 1) -> ComparisonReport {
        SampleReport(seed: seed, noise: 0.002, speed: { kind, _ in kind == .spin ? speed : 1 })
            .make()
    }

    @Test(arguments: [(nil, 0.85, true), (0.9, 0.85, true), (0.8, 0.85, false), (1, 0.97, true)])
    func `a loss fails if its interval ends below the threshold`(
        threshold: Double?,
        speed: Double,
        fails: Bool
    ) throws {
        let (before, after) = (Self.steady(1), Self.steady(2, speed))
        let difference = try ReportDifference(from: before, against: after, failBelow: threshold)
        #expect(difference.isWorse == fails, "\(difference.summary)")
        let sentence = "surely below"
        #expect(difference.summary.contains(sentence) == (threshold != nil))
        #expect(
            difference.summary.contains("No throughput is \(sentence)") != fails || threshold == nil
        )
    }

    @Test func `a small loss fails if that was asked for, and load does not explain it`() throws {
        let before = Self.steady(1)
        var after = Self.steady(2, 0.97)
        #expect(try !ReportDifference(from: before, against: after).isWorse)
        #expect(try ReportDifference(from: before, against: after, failBelow: 0.99).isWorse)
        after.conditions.foreignProcessors = 0.1 * Double(after.fingerprint.processorsOnline)
        #expect(try !ReportDifference(from: before, against: after, failBelow: 0.99).isWorse)
    }

    @Test func `a gate says how many cases it is about`() throws {
        let before = SampleReport(strategies: [.lock, .spin], threads: [1, 2]).make()
        let after = SampleReport(strategies: [.lock], threads: [1, 2]).make()
        let difference = try ReportDifference(from: before, against: after, failBelow: 0.9)
        #expect(difference.summary.hasSuffix("of the one before, in 2 cases of 4."))
    }

    @Test func `a loss that may be above the threshold does not fail`() throws {
        let before = SampleReport(seed: 1, noise: 0.04).make()
        let after = SampleReport(seed: 2, noise: 0.04, speed: { _, _ in 0.85 }).make()
        #expect(try ReportDifference(from: before, against: after).isWorse)
        #expect(try !ReportDifference(from: before, against: after, failBelow: 0.85).isWorse)
    }

    @Test func `a threshold is about throughput, and a check that fails newly fails nevertheless`()
        throws
    {
        let before = SampleReport(seed: 1).make()
        var after = SampleReport(seed: 2, holdFactor: 2).make()
        #expect(try ReportDifference(from: before, against: after).isWorse)
        #expect(try !ReportDifference(from: before, against: after, failBelow: 1).isWorse)
        after.verdicts[2].outcome = .failed
        #expect(try ReportDifference(from: before, against: after, failBelow: 0.1).isWorse)
        let open = SampleReport(strategies: [.lock]).open { _ in 1e4 }
        let error = #expect(throws: ReportFileError.self) {
            _ = try ReportDifference(from: open, against: open, failBelow: 0.9)
        }
        #expect(error?.message.hasPrefix("--fail-below is about throughput") == true)
    }

    private typealias Change =
        @Sendable (
            inout ComparisonSettings, inout ComparisonReport.Fingerprint
        ) -> Void

    /// One part of the workload may differ, and a list of them has to have the one before.
    private static let changes: [(Change, String?)] = [
        ({ _, _ in }, nil),
        ({ settings, _ in settings.sectionNanoseconds = [7] }, nil),
        ({ settings, _ in settings.strategies = [.spin] }, "no case in common"),
        ({ settings, _ in settings.threads = [4] }, "no case in common"),
        ({ settings, _ in settings.sectionNanoseconds = [7, 8] }, "no case in common"),
        (
            { settings, _ in (settings.transport, settings.durationSeconds) = (.http, 1) },
            "no figure in common"
        ),
        ({ settings, _ in settings.repeats = 2 }, "fewer than 3 repeats"),
        ({ _, fingerprint in fingerprint.architecture = "riscv64" }, "different machines"),
    ]

    @Test(arguments: changes.indices)
    func `reasons against a comparison are known before the run`(index: Int) throws {
        let before = SampleReport(strategies: [.lock], threads: [1, 2]).make()
        var (settings, fingerprint) = (before.settings, before.fingerprint)
        (settings.strategies, settings.threads) = ([.lock, .spin], [2, 4])
        let (change, sentence) = Self.changes[index]
        change(&settings, &fingerprint)
        let run = try ComparisonRun(settings, version: "test")
        var problem: String?
        do throws(ReportFileError) {
            let after = before.expected(of: run, on: fingerprint)
            _ = try ReportDifference(from: before, against: after)
        } catch {
            problem = error.message
        }
        #expect((problem == nil) == (sentence == nil), "\(problem ?? "nothing")")
        #expect(problem?.contains(sentence ?? "") != false, "\(problem ?? "nothing")")
    }
}
