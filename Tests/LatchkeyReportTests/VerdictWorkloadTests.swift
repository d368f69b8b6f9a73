import Foundation
import LatchkeyStrategies
import Testing

@testable import LatchkeyComparison
@testable import LatchkeyReport

/// Sentences about one of several cases, on random tables of several workloads.
@Suite(.timeLimit(.minutes(15)))
struct VerdictWorkloadTests {
    private typealias Found = ComparisonReport.Recommendation

    /// Workloads that differ in one thing, and the place as the sentences write it.
    private static let pairs: [[(workload: ComparisonReport.Workload, place: String)]] = {
        func keys(
            _ count: Int,
            _ transport: ComparisonSettings.Transport? = nil
        ) -> ComparisonReport.Workload {
            var workload = SampleReport.workload(transport: transport)
            workload.keys = count
            return workload
        }
        return [
            [
                (SampleReport.workload(readRatio: 0.9), "with 90 % reads"),
                (SampleReport.workload(readRatio: 0.99), "with 99 % reads"),
            ],
            [(keys(1), "with 1 key"), (keys(1_024), "with 1024 keys")],
            [(keys(1, .http), "with 1 key"), (keys(64, .http), "with 64 keys")],
        ]
    }()

    /// Two workloads on 1 and 8 threads, with waits, processor times and shares of all lengths.
    private static func randomReport(_ seed: UInt64) -> ComparisonReport {
        var random = SeededRandom(seed: seed)
        let kinds: [StrategyKind] = [.lock, .spin, .adaptive, .snapshot, .serialQueue, .actor]
        var report = ComparisonReport.empty
        report.settings.strategies = kinds.map(StrategyName.init)
        let spread = [0.03, 0.3, 1][Int.random(in: 0..<3, using: &random)]
        for (workload, _) in pairs[Int(seed % 3)] {
            for threads in [1, 8] {
                for kind in kinds {
                    let falls = threads == 8 && random.unit() < 0.1
                    let rate = 1e6 * exp(spread * random.normal()) / (falls ? 30 : 1)
                    var rates = steady(rate)
                    if random.unit() < 0.2 { rates[2] *= 0.3 }
                    var entry = ComparisonReport.Case.plain(
                        kind.rawValue,
                        threads,
                        rates,
                        workload
                    )
                    let wait = exp(Double.random(in: 4...12, using: &random))
                    entry.summary.wait = .sample(p50: wait)
                    entry.summary.cpuSecondsPerMillionOperations =
                        exp(Double.random(in: -1...1, using: &random))
                    entry.summary.jainIndex = threads == 1 ? 1 : 0.5 + random.unit() / 2
                    report.cases.append(entry)
                }
            }
        }
        report.settings.current = [nil, .spin, .snapshot][Int.random(in: 0..<3, using: &random)]
        return report.concluded()
    }

    private static let reports = (0..<90).map { randomReport(UInt64($0)) }

    /// The case in which a strategy was measured at such a place.
    private func entry(
        _ report: ComparisonReport,
        _ seed: Int,
        _ name: Substring,
        _ place: Substring
    ) throws -> ComparisonReport.Case {
        let pair = try #require(
            Self.pairs[seed % 3].first { place.hasPrefix($0.place + " ") },
            "no workload in '\(place)'"
        )
        let threads = try #require(place.firstMatch(of: /(\d+) (thread|connection)s?$/))
        return try #require(
            report.cases.first {
                $0.strategy == name && $0.workload == pair.workload
                    && $0.threads == Int(threads.1)
            }
        )
    }

    /// Each sentence of these that the pattern matches, with its report.
    private func matches<Output>(
        _ pattern: Regex<Output>,
        _ texts: (Found) -> [String],
        _ check: (ComparisonReport, Int, Output) throws -> Void
    ) throws -> Int {
        var count = 0
        for (seed, report) in Self.reports.enumerated() {
            for text in texts(try #require(report.recommendation)) {
                for match in text.matches(of: pattern) {
                    count += 1
                    try check(report, seed, match.output)
                }
            }
        }
        return count
    }

    @Test func `waits, processor time and fairness are those of the case that is named`() throws {
        let waits = try matches(
            /If long waits [^:]*: `([^`]+)`.* has a p99 wait of (.+) (with .+), `([^`]+)` (.+)\./,
            \.notes
        ) { report, seed, match in
            for (name, time) in [(match.1, match.2), (match.4, match.5)] {
                let own = try entry(report, seed, name, match.3)
                let wait = try #require(own.summary.wait)
                #expect(FigureText.quantile(nanoseconds: wait.p99Nanoseconds) == time)
            }
        }
        let costs = try matches(
            /If proc[^:]*: `([^`]+)`.* takes (.+) per operation (with .+), `([^`]+)` (.+)\./,
            \.notes
        ) { report, seed, match in
            for (name, time) in [(match.1, match.2), (match.4, match.5)] {
                let own = try entry(report, seed, name, match.3)
                let cost = try #require(own.summary.cpuSecondsPerMillionOperations)
                #expect(FigureText.duration(nanoseconds: cost * 1_000) == time)
            }
        }
        let unfair = try matches(
            /`([^`]+)` is not fair (with .+): Jain's index is ([\d.]+),/,
            \.notes
        ) { report, seed, match in
            let own = try entry(report, seed, match.1, match.2)
            #expect(FigureText.fixed(try #require(own.summary.jainIndex), 2) == match.3)
        }
        #expect(waits >= 5 && costs >= 20 && unfair >= 20, "\(waits) \(costs) \(unfair)")
    }

    @Test func `a slow repeat is that of the case that is named`() throws {
        let count = try matches(/`([^`]+)` (with [^()`]+) \(([\d.]+[kM]?)\)/, \.notes) {
            report,
            seed,
            match in
            let own = try entry(report, seed, match.1, match.2)
            let slowest = own.repeats.map(\.operationsPerSecond).min() ?? 0
            #expect(FigureText.count(slowest) == match.3)
        }
        #expect(count >= 50, "\(count) slow repeats")
    }

    @Test func `no advice is to use what breaks a limit, or copies where many write`() throws {
        var (count, copyingCount) = (0, 0)
        for report in Self.reports {
            let found = try #require(report.recommendation)
            let headline = Headline(report, Ranking(report))
            let avoided = Set(Found.allAvoided(report, headline).map(\.strategy))
            #expect(avoided.isDisjoint(with: found.strategies), "\(found)")
            let passedOver = found.passedOver.map(\.strategy)
            #expect(Set(found.strategies).isDisjoint(with: passedOver), "\(found)")
            for note in found.notes {
                guard let match = note.firstMatch(of: /^If [^:]*: `([^`]+)`( \(writers copy\))?/)
                else { continue }
                count += 1
                copyingCount += match.2 == nil ? 0 : 1
                let name = String(match.1)
                let breach = headline.breach(name, in: headline.ranking.situations)
                #expect(breach == nil, "\(note)\n\(found.news)")
                #expect((name == "snapshot") == (match.2 != nil), "\(note)")
                let reads = report.cases.map(\.workload.readRatio).min() ?? 0
                #expect(name != "snapshot" || reads >= 0.9, "\(note)")
            }
        }
        #expect(count >= 20 && copyingCount >= 3, "\(count) notes, \(copyingCount) of copies")
    }

    @Test func `what is not to be used is told with the reason, and each figure is in the table`()
        throws
    {
        for report in Self.reports {
            let found = try #require(report.recommendation)
            let headline = Headline(report, Ranking(report))
            let told = (found.news + found.notes.filter { $0.hasPrefix("Not to be used") })
                .joined(separator: " ")
            for avoided in Found.allAvoided(report, headline) {
                #expect(told.contains(avoided.text), "\(avoided): \(told)")
            }
        }
        func texts(_ found: Found) -> [String] {
            found.news + found.notes.filter { $0.hasPrefix("Not to be used") }
        }
        let slow = try matches(
            /`([^`]+)` is ([\d.]+) times slower than `([^`]+)` (with [^;.]+)/,
            texts
        ) { report, seed, match in
            let own = try entry(report, seed, match.1, match.4)
            let other = try entry(report, seed, match.3, match.4)
            let ratio =
                other.summary.operationsPerSecond.median / own.summary.operationsPerSecond.median
            #expect(FigureText.count(ratio) == match.2)
            #expect(match.3 == (report.recommendation?.strategies[0] ?? "")[...])
        }
        let waits = try matches(
            /`([^`]+)` has a p99 wait of ([^(]+) \(`([^`]+)` ([^)]+)\) (with [^;.]+)/,
            texts
        ) { report, seed, match in
            for (name, time) in [(match.1, match.2), (match.3, match.4)] {
                let own = try entry(report, seed, name, match.5)
                let wait = try #require(own.summary.wait)
                #expect(FigureText.quantile(nanoseconds: wait.p99Nanoseconds) == time)
            }
            #expect(match.3 == (report.recommendation?.current ?? "")[...])
        }
        #expect(slow >= 20 && waits >= 20, "\(slow) \(waits)")
    }

    @Test func `line one has at most 20 words, and the name that copies has it beside it`() throws {
        var count = 0
        for report in Self.reports {
            let found = try #require(report.recommendation)
            #expect(found.sentence.wordCount <= 20, "\(found.sentence)")
            let name = try #require(found.strategies.first)
            let copies = found.sentence.contains("`snapshot`, whose writers copy the value")
            count += copies ? 1 : 0
            #expect(copies == (name == "snapshot"), "\(found.sentence)")
        }
        #expect(count >= 5, "\(count) copy")
    }
}
