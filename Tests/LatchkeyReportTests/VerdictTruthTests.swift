import Foundation
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyComparison
@testable import LatchkeyReport

/// Each sentence of a verdict against the table on which it stands, on random tables and on
/// recorded ones.
@Suite(.timeLimit(.minutes(15)))
struct VerdictTruthTests {
    /// Strategies whose speeds are near each other, far apart, or equal; steady, noisy or in modes.
    private static func randomReport(_ seed: UInt64) -> ComparisonReport {
        var random = SeededRandom(seed: seed)
        let count = Int.random(in: 3...7, using: &random)
        func one<Value>(of values: [Value]) -> Value {
            values[Int.random(in: values.indices, using: &random)]
        }
        let reads: Double = one(of: [0.5, 0.99])
        let spread: Double = one(of: [0, 0.1, 0.5, 2])
        let noise: Double = one(of: [0.005, 0.03, 0.2])
        var points = [[Int: [Double]]](repeating: [:], count: 6)
        for threads in [1, 4, 8] {
            let rounds = (0..<count).map { _ in exp(noise * random.normal()) }
            for index in points.indices {
                let falls = threads == 8 && random.unit() < 0.15
                let rate = 1e6 * exp(spread * random.normal()) / (falls ? 50 : 1)
                points[index][threads] = rounds.map { round in
                    let slow = random.unit() < 0.05 ? 0.3 : 1
                    return rate * round * slow * exp(noise / 2 * random.normal())
                }
            }
        }
        var report = ComparisonReport.plain(
            [
                .lock: points[0], .spin: points[1], .mutex: points[2], .adaptive: points[3],
                .snapshot: points[4], .actor: points[5],
            ],
            workload: SampleReport.workload(readRatio: reads)
        )
        if Bool.random(using: &random) {
            // Not of what is far slower, or has no steady repeats.
            report.addRounds(noise: noise, share: 0.8, &random)
        }
        report.settings.current = one(of: [nil, .mutex, .spin, .snapshot])
        report.conditions.leastRatio = one(of: [1, 1.01, 1.3])
        var longest = SeededRandom(seed: seed &+ 1_000)
        for index in report.cases.indices {
            let wait = exp(Double.random(in: 0...14, using: &random))
            report.cases[index].summary.wait = .sample(p50: wait)
            report.cases[index].summary.wait?.maxNanoseconds *=
                exp(Double.random(in: -3...3, using: &longest))
            report.cases[index].summary.cpuSecondsPerMillionOperations =
                exp(Double.random(in: -1...2, using: &random))
        }
        return report.concluded()
    }

    private static let randomReports = (0..<Depth.count(20, deep: 80)).map {
        randomReport(UInt64($0))
    }

    typealias Verdict = (
        report: ComparisonReport, found: ComparisonReport.Recommendation, headline: Headline
    )

    private static let allVerdicts = Result {
        let recorded = try RecordedVerdictTests.names.map(RecordedVerdictTests.report)
        return try (randomReports + recorded).map { report -> Verdict in
            let found = try #require(report.recommendation)
            return (report, found, Headline(report, Ranking(report)))
        }
    }

    /// Each report with its verdict.
    ///
    /// They are made once, which takes most of the time.
    static func verdicts() throws -> [Verdict] { try allVerdicts.get() }

    // MARK: The rule, asked in another way

    /// By how much a strategy is ahead at least, in each case: slowest against fastest repeat.
    static func leastLead(_ report: ComparisonReport, _ one: String, _ other: String) -> Double {
        func values(_ entry: ComparisonReport.Case) -> [Double] {
            entry.rounds?.operationsPerSecond ?? entry.repeats.map(\.operationsPerSecond)
        }
        return report.cases.filter { $0.strategy == one }.compactMap { own in
            report.cases.first {
                $0.strategy == other && $0.threads == own.threads && $0.workload == own.workload
            }.map { (values(own).min() ?? 0) / (values($0).max() ?? 1) }
        }.min() ?? 0
    }

    @Test func `no other row beats the headline in everything`() throws {
        var count = 0
        for (report, found, _) in try Self.verdicts() {
            let name = try #require(found.strategies.first)
            let least = max(1.1, report.conditions.leastRatio)
            for other in Set(report.cases.map(\.strategy)).subtracting([name]) {
                guard Self.leastLead(report, other, name) > least + 1e-6 else { continue }
                count += 1
                let isAvoided = (found.news + found.notes).contains { $0.contains("`\(other)`") }
                let isPassedOver = found.passedOver.contains { $0.strategy == other }
                #expect(isPassedOver || isAvoided, "`\(other)` beats \(found)")
                let isTold = found.sentence.hasPrefix("Too noisy to tell which is better")
                #expect(
                    isPassedOver || isTold || name != found.current,
                    "`\(other)` beats \(found)"
                )
            }
        }
        #expect(count >= Depth.count(1, deep: 3), "\(count) rows are far ahead, and not to be used")
    }

    @Test func `who replaces the current one does more on average and is worse nowhere`() throws {
        var count = 0
        for (report, found, headline) in try Self.verdicts() {
            guard let name = found.strategies.first, let current = found.current, name != current
            else { continue }
            count += 1
            let whole = try #require(headline.ratio(name, to: current))
            #expect(whole.value >= 1.099, "\(found.lines)")
            let collapses = report.cliffs.contains { $0.strategy == current }
            // Every repeat of the current one above each of this one, by more than 10 %.
            for threads in Set(report.cases.map(\.threads)) where !collapses {
                var part = report
                part.cases.removeAll { $0.threads != threads }
                #expect(Self.leastLead(part, current, name) <= 1.101, "\(found.lines)")
            }
            #expect(collapses || !found.flip.contains("`\(current)`"), "\(found.lines)")
            #expect(whole.low >= 1.099, "\(found.lines)")
            let reads = report.cases.map(\.workload.readRatio).min() ?? 0
            let copies = report.traits(of: name).readsDuringWrites
            #expect(!copies || reads >= 0.9 && found.sentence.contains("copy"), "\(found.lines)")
        }
        #expect(count >= Depth.count(2, deep: 10), "\(count) verdicts change something")
    }

    // MARK: Sentences

    /// The figure in a clause: a factor, from percent or from times.
    private func factor(_ text: Substring) -> Double? {
        if let found = text.firstMatch(of: /([\d.]+) % more/) {
            return Double(found.1).map { 1 + $0 / 100 }
        }
        guard let found = text.firstMatch(of: /([\d.]+)([kM]?) times (as|slower)/) else {
            return nil
        }
        let unit = found.2 == "k" ? 1e3 : found.2 == "M" ? 1e6 : 1
        return Double(found.1).map { $0 * unit }
    }

    private func median(_ report: ComparisonReport, _ name: String, _ threads: Int) -> Double {
        report.cases.first { $0.strategy == name && $0.threads == threads }?.summary
            .operationsPerSecond.median ?? 0
    }

    /// A ratio of rounds can be moved to the end of its interval, and farther where one strategy
    /// has rounds and the other has none: then the repeats of both have the interval.
    private static func tolerance(_ report: ComparisonReport) -> Double {
        let count = report.cases.count { $0.rounds != nil }
        return count == 0 ? 0.01 : count == report.cases.count ? 0.03 : 0.1
    }

    @Test func `the gain in line one is between those of the cases that it names`() throws {
        var count = 0
        let pattern = /Use `([^`]+)`: .* `([^`]+)` (on|from) (\d+)( to \d+)? threads?( on)?/
        for (report, found, headline) in try Self.verdicts() {
            guard let match = found.sentence.firstMatch(of: pattern),
                let gain = factor(found.sentence[...]), let least = Int(match.4)
            else { continue }
            count += 1
            let isRange = match.5 != nil || match.6 != nil
            let gains = headline.ranking.situations.filter {
                isRange ? $0.threads >= least : $0.threads == least
            }.map {
                median(report, String(match.1), $0.threads)
                    / median(report, String(match.2), $0.threads)
            }
            let tolerance = Self.tolerance(report)
            #expect(gain >= (1 - tolerance) * (gains.min() ?? 9), "\(found.sentence)")
            #expect(gain <= (1 + tolerance) * (gains.max() ?? 0), "\(found.sentence)")
        }
        #expect(count >= Depth.count(2, deep: 10), "\(count) gains")
    }

    @Test func `each clause of line two names who is better there, with its figure`() throws {
        var count = 0
        let pattern =
            /`([^`]+)`(?: \(writers copy\))? on (\d+)(?: to (\d+))? threads?: ([^;.]+\.?[^;.]*)/
        for (report, found, headline) in try Self.verdicts() where found.flip.hasPrefix("Except: ")
        {
            #expect(
                found.flip.matches(of: /`snapshot`/).count
                    == found.flip.matches(of: /`snapshot` \(writers copy\)/).count
            )
            for clause in found.flip.matches(of: pattern) {
                count += 1
                let (low, other) = (Int(clause.2) ?? 0, String(clause.1))
                let high = clause.3.flatMap { Int($0) } ?? low
                let cases = headline.ranking.situations.filter {
                    (low...high).contains($0.threads)
                }
                let gain = try #require(factor(clause.4), "\(found.flip)")
                let ratios = cases.map {
                    median(report, other, $0.threads)
                        / median(report, found.strategies[0], $0.threads)
                }
                let mean = ratios.reduce(1) { $0 * pow($1, 1 / Double(ratios.count)) }
                #expect(abs(gain / mean - 1) < Self.tolerance(report), "\(found.flip)")
                #expect(ratios.allSatisfy { $0 >= 1.099 }, "\(found.flip)")
            }
        }
        #expect(count >= Depth.count(2, deep: 10), "\(count) clauses")
    }

    private static func repeatsMedian(
        _ report: ComparisonReport,
        _ name: String,
        _ threads: Int
    ) throws -> Double {
        let entry = report.cases.first { $0.strategy == name && $0.threads == threads }
        let counted = try #require(entry).counted
        return Statistics.median(counted.map(\.operationsPerSecond))
    }

    @Test func `line three has the fall that stands in the table`() throws {
        var count = 0
        let pattern = /`([^`]+)` collapses above (\d+) threads?: ([^;]+ slower)/
        for (report, found, _) in try Self.verdicts() {
            for clause in (found.news.first ?? "").matches(of: pattern) {
                count += 1
                let name = String(clause.1)
                let before = try #require(Int(clause.2))
                let after = report.cases.map(\.threads).filter { $0 > before }.min() ?? 0
                // Of the table, or of the repeats, which are as long above the fall as below it.
                let inTable = median(report, name, before) / median(report, name, after)
                let ofRepeats =
                    try Self.repeatsMedian(report, name, before)
                    / Self.repeatsMedian(report, name, after)
                let told = try #require(factor(clause.3))
                #expect(told <= 1.01 * min(inTable, ofRepeats), "\(found.news)")
                #expect(told >= 0.8 * min(inTable, ofRepeats), "\(found.news)")
                #expect(name != found.strategies.first, "\(found.lines)")
            }
        }
        #expect(count >= Depth.count(2, deep: 10), "\(count) falls")
    }

    @Test func `the next best is the next row of the table`() throws {
        for (_, found, headline) in try Self.verdicts() {
            let order = headline.ranking.overall.map(\.strategy)
            let own = try #require(order.firstIndex(of: found.strategies[0]))
            for text in found.lines + found.notes {
                let match =
                    text.firstMatch(of: /Next best: `([^`]+)`/)
                    ?? text.firstMatch(of: /`([^`]+)`, the next best/)
                guard let match else { continue }
                #expect(String(match.1) == order[own + 1], "\(text)")
            }
        }
    }

    @Test func `whoever is named for its waits has a shorter p99, and no longer one`() throws {
        var count = 0
        let pattern = /If long waits matter .* `([^`]+)` has .* on (\d+) threads?, `([^`]+)` \d/
        for (report, found, _) in try Self.verdicts() {
            for note in found.notes {
                guard let match = note.firstMatch(of: pattern) else { continue }
                count += 1
                func wait(_ name: Substring) throws -> ComparisonReport.Durations {
                    let entry = report.cases.first {
                        $0.strategy == name && $0.threads == Int(match.2)
                    }
                    return try #require(entry?.summary.wait)
                }
                let (theirs, ours) = try (wait(match.1), wait(match.3))
                #expect(theirs.p99Nanoseconds < 0.5 * ours.p99Nanoseconds, "\(note)")
                #expect(theirs.maxNanoseconds <= ours.maxNanoseconds, "\(note)")
                #expect(ours.p99Nanoseconds > 10_000, "\(note)")
            }
        }
        #expect(count >= Depth.count(2, deep: 10), "\(count) notes")
    }

    @Test func `on a busy machine nothing better is found only where nothing can be better`() throws
    {
        var (count, noisyCount) = (0, 0)
        for (report, found, headline) in try Self.verdicts()
        where report.conditions.leastRatio > 1.1 {
            noisyCount += found.sentence.hasPrefix("Too noisy to tell: ") ? 1 : 0
            let starts = ["Nothing better found", "No difference"]
            guard let name = found.current, starts.contains(where: found.sentence.hasPrefix)
            else { continue }
            count += 1
            for other in headline.ranking.overall.map(\.strategy) where other != name {
                let ratio = try #require(headline.ratio(other, to: name))
                #expect(ratio.high < 1.101, "`\(other)`: \(found)")
            }
        }
        #expect(count >= 1 && noisyCount >= 1, "\(count) verdicts, \(noisyCount) too noisy")
    }

    @Test func `lines are short, and a factor is never called no difference`() throws {
        for (_, found, headline) in try Self.verdicts() {
            #expect(found.lines.count <= 3 && found.lines.count >= 2)
            #expect(found.sentence.wordCount <= 20, "\(found.sentence)")
            for line in found.lines { #expect(line.wordCount <= 45, "\(line)") }
            for text in found.lines + found.rest {
                #expect(!text.contains("not distinguishable"), "\(text)")
            }
            guard found.sentence.hasPrefix("No difference "), let name = found.current else {
                continue
            }
            let others = headline.ranking.overall.map(\.strategy).filter { $0 != name }
            let ratios = try others.map { try #require(headline.ratio($0, to: name)) }
            #expect(ratios.allSatisfy { $0.value < 2 && !headline.isBetter($0) }, "\(found)")
            let isSure = ratios.contains { $0.low > 1 || $0.high < 1 }
            #expect(isSure == found.sentence.hasPrefix("No difference of "), "\(found)")
        }
    }
}
