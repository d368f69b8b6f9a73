import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyComparison
@testable import LatchkeyReport

/// The list below the verdict, and line two, on random tables and on recorded ones.
@Suite(.timeLimit(.minutes(15)))
struct VerdictListTests {
    @Test func `whoever is surely better than the headline is told, with what bars it`() throws {
        var (count, barredCount) = (0, 0)
        for (_, found, headline) in try VerdictTruthTests.verdicts() {
            let name = found.strategies[0]
            for other in headline.ranking.overall.map(\.strategy) where other != name {
                let ratio = try #require(headline.ratio(other, to: name))
                guard headline.isBetter(ratio) else { continue }
                count += 1
                let told = found.rest.filter { $0.contains("`\(other)`") }
                #expect(!told.isEmpty, "`\(other)` is not in \(found)")
                guard let obstacle = headline.obstacle(other) else { continue }
                barredCount += 1
                #expect(told.contains { $0.contains(obstacle.text) }, "\(obstacle.text): \(told)")
            }
        }
        let least = Depth.count(2, deep: 10)
        #expect(count >= 2 * least && barredCount >= least, "\(count) and \(barredCount) barred")
    }

    @Test func `the next best is told with what bars it`() throws {
        var count = 0
        for (_, found, headline) in try VerdictTruthTests.verdicts() {
            for note in found.notes {
                guard let match = note.firstMatch(of: /^Next best: `([^`]+)`/),
                    let obstacle = headline.obstacle(String(match.1)), obstacle.kind != .slower
                else { continue }
                count += 1
                #expect(note.hasSuffix("), but \(obstacle.text)."), "\(note)")
            }
        }
        #expect(count >= Depth.count(2, deep: 10), "\(count) are barred")
    }

    @Test func `line two says that nothing was found better only where no row is far ahead`() throws
    {
        var (count, barredCount) = (0, 0)
        for (report, found, headline) in try VerdictTruthTests.verdicts()
        where found.flip.hasPrefix("No other ") {
            count += 1
            let name = found.strategies[0]
            let least = max(1.1, report.conditions.leastRatio)
            let isBarred = found.flip.hasPrefix("No other that may be used ")
            barredCount += isBarred ? 1 : 0
            for other in Set(report.cases.map(\.strategy)).subtracting([name]) {
                for threads in Set(report.cases.map(\.threads)) {
                    var part = report
                    part.cases.removeAll { $0.threads != threads }
                    let lead = VerdictTruthTests.leastLead(part, other, name)
                    guard lead > least + 1e-6 else { continue }
                    #expect(isBarred, "`\(other)` on \(threads) threads: \(found.lines)")
                    let place = headline.ranking.situations.filter { $0.threads == threads }
                    let decision = headline.decision(name, in: place)
                    #expect(decision == .stays, "\(found.lines)")
                }
            }
        }
        let (least, leastBarred) = (Depth.count(2, deep: 10), Depth.count(0, deep: 2))
        #expect(count >= least && barredCount >= leastBarred, "\(count), \(barredCount) barred")
    }

    @Test func `the list is the same in the terminal, in Markdown, on the page and in JSON`() throws
    {
        for (report, found, _) in try VerdictTruthTests.verdicts() {
            let style = TerminalStyle(width: 180, usesColor: false)
            let terminal = words(TerminalReport(report, style: style).text)
            let page = try words(String(decoding: ReportPage(report).html(), as: UTF8.self))
            let json = try words(String(decoding: report.json(), as: UTF8.self))
            let markdown = MarkdownReport(report).text
            for text in found.lines + found.rest {
                for form in [terminal, page, json] { #expect(form.contains(text), "\(text)") }
            }
            for line in found.lines { #expect(markdown.contains(line), "\(line)") }
            // Markdown has fewer lines, in the same order.
            let bullets = markdown.split(separator: "\n").filter { $0.hasPrefix("- ") }
                .map { $0.dropFirst(2).replacing("\\", with: "") }
            #expect(zip(bullets, found.rest).allSatisfy { $0 == $1 || $0.hasPrefix("and ") })
            #expect(bullets.count >= min(found.rest.count, 4), "\(bullets)")
        }
    }

    private func words(_ text: String) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            .replacing("\\u003c", with: "<")
    }

    // MARK: Conditions

    /// Random tables of two read ratios and three numbers of threads.
    private func randomReport(_ seed: UInt64) -> ComparisonReport {
        var random = SeededRandom(seed: seed)
        var report = ComparisonReport.empty
        let kinds: [StrategyKind] = [.lock, .spin, .adaptive]
        report.settings.strategies = kinds.map(StrategyName.init)
        for reads in [0.5, 0.99] {
            // In every other table, all threads have the same order.
            let factors = kinds.map { _ in Self.factor(&random) }
            for threads in [1, 4, 8] {
                for (index, kind) in kinds.enumerated() {
                    let factor = seed % 2 == 0 ? factors[index] : Self.factor(&random)
                    report.cases.append(
                        .plain(
                            kind.rawValue,
                            threads,
                            steady(1e6 * factor),
                            SampleReport.workload(readRatio: reads)
                        )
                    )
                }
            }
        }
        return report.concluded()
    }

    private static func factor(_ random: inout SeededRandom) -> Double {
        [0.5, 1, 1, 1, 1.5][Int.random(in: 0..<5, using: &random)]
    }

    @Test func `a condition names the reads first, and threads only where not all have it`() throws
    {
        var (count, wholeCount) = (0, 0)
        let pattern =
            /`([^`]+)` with (\d+) % reads(?: on (\d+)(?: to (\d+))? threads?)?: ([\d.]+)( %)?/
        for seed in 0..<Depth.count(10, deep: 40) {
            let report = randomReport(UInt64(seed))
            let found = try #require(report.recommendation)
            for clause in found.flip.matches(of: pattern) {
                count += 1
                let reads = try #require(Double(clause.2)) / 100
                let low = clause.3.flatMap { Int($0) } ?? 1
                let high = clause.4.flatMap { Int($0) } ?? clause.3.flatMap { Int($0) } ?? 8
                wholeCount += clause.3 == nil ? 1 : 0
                #expect(!(clause.3 != nil && low == 1 && high == 8), "\(found.flip)")
                let gains = report.cases.filter {
                    $0.strategy == clause.1 && abs($0.workload.readRatio - reads) < 1e-9
                        && (low...high).contains($0.threads)
                }.map { own in
                    let theirs = report.cases.first {
                        $0.strategy == found.strategies[0] && $0.workload == own.workload
                            && $0.threads == own.threads
                    }
                    return own.summary.operationsPerSecond.median
                        / (theirs?.summary.operationsPerSecond.median ?? 1)
                }
                #expect(!gains.isEmpty && gains.allSatisfy { $0 > 1.099 }, "\(found.flip)")
            }
            #expect(!found.flip.contains("threads with "), "\(found.flip)")
        }
        let (least, leastWhole) = (Depth.count(5, deep: 20), Depth.count(1, deep: 3))
        #expect(count >= least && wholeCount >= leastWhole, "\(count), \(wholeCount) of all")
    }
}
