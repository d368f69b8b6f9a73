import Foundation
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyComparison
@testable import LatchkeyReport

/// Three runs of one machine within an hour, which once named three strategies; and the same runs
/// with their repeats drawn again.
@Suite(.timeLimit(.minutes(15)))
struct RecordedVerdictTests {
    static let names = ["use-actor", "use-semaphore", "use-snapshot"]

    static func report(_ name: String) throws -> ComparisonReport {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        var report = try ComparisonReport(file: folder.path + "/Recorded/\(name).json")
        report.conclude(isForced: false)
        return report
    }

    @Test(arguments: zip(names, ["lock", "lock", "adaptive"]))
    func `no report names another one than lock or adaptive`(name: String, named: String) throws {
        let found = try #require(Self.report(name).recommendation)
        #expect(found.strategies.first == named, "\(found.lines)")
        if named == "lock" {
            #expect(!found.sentence.hasPrefix("No difference"), "most are slower for sure")
        }
    }

    @Test func `a quiet run has three lines`() throws {
        let found = try #require(Self.report("use-snapshot").recommendation)
        #expect(
            found.lines == [
                "Use `adaptive`: 27 % more than `lock` from 2 threads on.",
                "No other was found better by 10 % in any of the 4 cases.",
                "Not here: `mutex` collapses above 4 threads: 217 times slower; `ticket` collapses "
                    + "above 2 threads: 18.6 times slower; `serial-queue` collapses above 1 "
                    + "thread: 11.9 times slower; and 5 more.",
            ]
        )
    }

    @Test(arguments: names)
    func `whoever is the current one, the sentences agree with each other and with the table`(
        name: String
    ) throws {
        var report = try Self.report(name)
        for current in report.settings.strategies {
            report.settings.currentStrategy = current
            report.conclude(isForced: false)
            let found = try #require(report.recommendation)
            let own = try #require(found.strategies.first)
            #expect(found.sentence.wordCount <= 20, "\(found.sentence)")
            // Most are a factor apart: one of them copies, and that is not why it stays.
            #expect(
                found.passedOver.count < 2 || !found.sentence.contains("its writers copy"),
                "\(found.sentence)"
            )
            let collapses = report.cliffs.contains { $0.strategy == current.rawValue }
            if own != current.rawValue, !collapses {
                #expect(!found.flip.contains("`\(current.rawValue)`"), "\(found.lines)")
            }
            for other in found.strategies.dropFirst() {
                #expect(
                    !(found.news + found.notes.filter { $0.hasPrefix("Not to be") })
                        .contains { $0.contains("`\(other)` ") || $0.contains("`\(other)`,") },
                    "\(other): \(found)"
                )
            }
        }
    }

    @Test func `where others are 12 times as many, and a busy machine hides why, it is said`()
        throws
    {
        var report = try Self.report("use-actor")
        report.settings.currentStrategy = StrategyName(.actor)
        report.conclude(isForced: false)
        let found = try #require(report.recommendation)
        #expect(found.sentence == "Too noisy to tell which is better: keep `actor`.")
        #expect(found.passedOver.count >= 9)
    }

    // MARK: Repeats drawn again

    private enum Drawing: CaseIterable {
        /// Whole rounds: what was measured together stays together.
        case rounds
        /// Each case by itself.
        case cases
    }

    /// What the run could have been, as far as its repeats tell.
    private func drawn(
        _ report: ComparisonReport,
        _ drawing: Drawing,
        _ random: inout SeededRandom
    ) -> ComparisonReport {
        var report = report
        let count = report.settings.repeats
        func draw() -> [Int] { (0..<count).map { _ in Int.random(in: 0..<count, using: &random) } }
        let rounds = draw()
        for index in report.cases.indices {
            let own = report.cases[index].repeats.sorted { $0.index < $1.index }
            let places = drawing == .rounds ? rounds : draw()
            let repeats = places.enumerated().map { place, source in
                var measured = own[min(source, own.count - 1)]
                measured.index = place
                return measured
            }
            let old = report.cases[index].summary
            var summary = ComparisonReport.Summary(repeats)
            // Not in the recording for each repeat.
            summary.wait = old.wait
            summary.cpuSecondsPerMillionOperations = old.cpuSecondsPerMillionOperations
            (report.cases[index].repeats, report.cases[index].summary) = (repeats, summary)
        }
        return report.concluded()
    }

    @Test(arguments: zip(names, ["lock", "lock", "adaptive"]))
    func `drawn again, a run names the same strategy or keeps the current one`(
        name: String,
        named: String
    ) throws {
        let report = try Self.report(name)
        for drawing in [Drawing.rounds, .cases] {
            var random = SeededRandom(seed: 7)
            var counts: [String: Int] = [:]
            for _ in 0..<Depth.count(3, deep: 20) {
                let found = try #require(drawn(report, drawing, &random).recommendation)
                let isKept = found.strategies.first == found.current
                counts[isKept ? "" : found.strategies[0], default: 0] += 1
            }
            #expect(Set(counts.keys).isSubset(of: ["", named]), "\(drawing): \(counts)")
        }
    }
}
