import LatchkeyStrategies
import Testing

@testable import LatchkeyComparison
@testable import LatchkeyReport

/// Sentences that only some reports have.
struct ReportSentenceTests {
    /// The report's text, as one line.
    private func text(_ report: ComparisonReport) -> String {
        var report = report
        report.recommendation = report.verdict
        return report.terminal(width: 120).split(whereSeparator: \.isWhitespace)
            .joined(separator: " ")
    }

    @Test func `a cliff is told of a strategy that has nothing to be compared with`() {
        let report = ComparisonReport.plain([
            .mutex: [4: Array(repeating: 6.5e6, count: 5), 8: Array(repeating: 39e3, count: 5)]
        ])
        #expect(text(report).contains("`mutex` collapses above 4 threads: 167 times"))
        #expect(text(report).contains("Nothing is recommended"))
    }

    @Test func `after a hang, every form names the strategy, and no form names an interrupt`()
        throws
    {
        var report = SampleReport(strategies: [.lock, .spin, .semaphore]).make()
        report.isInterrupted = true
        report.verdicts = [
            .init(strategy: "spin", check: .counts, outcome: .failed, checkedCount: 0)
        ]
        report.conclude(isForced: false)
        let page = try String(decoding: ReportPage(report).html(), as: UTF8.self)
        for form in [text(report), MarkdownReport(report).text, page] {
            #expect(form.contains("`spin` did not return; the run ended there"))
            #expect(!form.contains("run was interrupted"))
        }
        #expect(
            report.recommendation?.news.first?.hasPrefix("Not here: `spin` does not ret") == true
        )
        report.verdicts = []
        #expect(text(report).contains("The run was interrupted: only the finished part is shown."))
    }

    @Test func `a trace that is cut off is told, as what is read of it`() {
        var report = SampleReport(strategies: [.lock, .spin]).make()
        report.settings.trace = TraceSource(
            file: "a.trace",
            speed: 1,
            sampleInterval: 16,
            operations: 123,
            seconds: 1.5,
            isCutOff: true
        )
        #expect(text(report).contains("its 123 whole records are replayed"))
        report.settings.trace?.isCutOff = false
        #expect(!text(report).contains("whole records"))
    }
}
