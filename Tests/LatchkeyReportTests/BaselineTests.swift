import LatchkeyStrategies
import Testing

@testable import LatchkeyComparison
@testable import LatchkeyReport

/// A threshold for a loss, and what forbids a comparison before anything is measured.
struct BaselineTests {
    private static func steady(_ seed: UInt64, _ speed: Double = 1) -> ComparisonReport {
        SampleReport(seed: seed, noise: 0.002, speed: { kind, _ in kind == .spin ? speed : 1 })
            .make()
    }

    @Test(arguments: [(nil, 0.85, true), (0.9, 0.85, true), (0.8, 0.85, false), (1, 0.97, false)])
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

    @Test func `what forbids a comparison is known before the run`() throws {
        let before = SampleReport(strategies: [.lock], threads: [1, 2]).make()
        func names(_ names: String...) -> [StrategyName] { names.map { .init(rawValue: $0) } }
        func problem(
            _ change: (inout ComparisonSettings, inout ComparisonReport.Fingerprint) -> Void = {
                _,
                _ in
            }
        ) -> String? {
            var (settings, print) = (before.settings, before.fingerprint)
            (settings.strategies, settings.threads) = (names("lock", "spin"), [2, 4])
            change(&settings, &print)
            do throws(ReportFileError) {
                let after = before.expected(settings, on: print)
                _ = try ReportDifference(from: before, against: after)
                return nil
            } catch {
                return error.message
            }
        }
        #expect(problem() == nil)
        let problems: [(String?, String)] = [
            (
                problem {
                    $0.strategies = names("spin")
                    _ = $1
                }, "no case in common"
            ),
            (
                problem {
                    $0.threads = [4]
                    _ = $1
                }, "no case in common"
            ),
            (
                problem {
                    $0.transport = .http
                    _ = $1
                }, "no figure in common"
            ),
            (
                problem {
                    $0.repeats = 2
                    _ = $1
                }, "fewer than 3 repeats"
            ),
            (
                problem {
                    _ = $0
                    $1.architecture = "riscv64"
                }, "different machines"
            ),
        ]
        for (found, sentence) in problems {
            #expect(found?.contains(sentence) == true, "\(found ?? "nothing")")
        }
    }
}
