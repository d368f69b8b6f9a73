import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyComparison
@testable import LatchkeyReport

/// Report files with seeded changes: they are refused with a sentence, or are shown as any other.
@Suite(.timeLimit(.minutes(15)))
struct HostileReportTests {
    @Test(arguments: [1, 2] as [UInt64])
    func `a report that was changed is refused, or can be shown`(seed: UInt64) throws {
        var random = SeededGenerator(seed)
        let right = SampleReport(strategies: [.lock, .spin], threads: [1, 2]).make()
        let json = try right.json()
        var shownCount = 0
        for _ in 0..<Depth.count(300, deep: 5000) {
            do throws(ReportFileError) {
                let changed = random.mutated(json, SeededGenerator.texts)
                var report = try ComparisonReport(json: changed, source: "a.json")
                report.conclude(isForced: false)
                let style = TerminalStyle(width: 100, usesColor: false)
                _ = TerminalReport(report, style: style).text
                _ = MarkdownReport(report).text
                _ = report.csv()
                _ = try ReportPage(report).html()
                shownCount += 1
            } catch {
                #expect(error.message.hasSuffix("."))
            }
        }
        #expect(shownCount > 0)
    }
}
