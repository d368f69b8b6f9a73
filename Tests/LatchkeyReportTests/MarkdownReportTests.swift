import Foundation
import LatchkeyStrategies
import Testing

@testable import LatchkeyComparison
@testable import LatchkeyReport

struct MarkdownReportTests {
    private func text(_ report: ComparisonReport) -> String {
        MarkdownReport(report.concluded()).text
    }

    @Test func `the verdict, a table and the machine are fewer than 40 lines`() {
        var report = SampleReport(
            workloads: [SampleReport.workload(), SampleReport.workload(readRatio: 0.9)]
        ).make()
        report.conditions.disturbances = ["Other processes kept 1.20 processors busy.", "So."]
        report.isInterrupted = true
        let lines = text(report).split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 40, "\(lines.count)")
        let text = text(report)
        for part in [
            "**Use `", "Linux 6.18.0", "2 processors", "Example \\<CPU\\> \\& Co", "release build",
            "`latchkey compare --transport memory", "| strategy | 1 | 2 | 4 | 8 | of best |",
            "1 more workload in the JSON.",
        ] {
            #expect(text.contains(part), "\(part) in \(text)")
        }
    }

    @Test func `a small report looks like this`() {
        let report = ComparisonReport.plain([
            .lock: [1: steady(4e6), 8: steady(1e6)], .mutex: [1: steady(8e6), 8: steady(1e4)],
        ])
        #expect(
            text(report) == """
                **Keep `lock`: 7.07 times as many as `mutex` on average, the next best.**

                **Except: `mutex` on 1 thread: 2 times as many.**

                **Not here: `mutex` collapses above 1 thread: 800 times slower.**

                Operations per second by threads; other columns: 8 threads. Workload: 50 % reads, \
                section 50 ns, outside 200 ns. Bold: no other is surely better by 10 %; \
                \\~ two modes; \\! one slow repeat.

                | strategy | 1 | 8 | of best | interval | wait p99 | cpu/op | Jain |
                | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
                | lock | 4.00M | **1.00M** | 100 % | 990k–1.01M | – | – | 1.00 |
                | mutex | **8.00M** | 10.0k | 1 % | 9.90–10.1k | – | – | 1.00 |

                2025-06-15, latchkey 0.1.0, Example \\<CPU\\> \\& Co, 2 processors, Linux 6.18.0, \
                Swift 6.3.1 or later, release build, Mutex: priority-inheriting-futex.

                `latchkey compare --transport memory --strategies lock,mutex --current lock \
                --threads 1,8 --read-ratio 0.5 --section 50 --outside 200 --keys 1 --skew uniform \
                --stripes 1 --arrival closed --duration 0.08 --repeats 5 --seed 1`

                """
        )
    }

    @Test func `rows that do not fit are counted`() {
        // 20 rows, of which 17 fit.
        let text = text(SampleReport().make())
        #expect(text.contains("\nand 3 more rows in the JSON."), "\(text)")
    }

    @Test func `text from a foreign report is no markup`() {
        var report = ComparisonReport.plain([.lock: [1: steady(2e6)], .spin: [1: steady(1e6)]])
        report.fingerprint.processorModel = "<img src=x> | **a** `b"
        report.cases[0].strategy = "a|b`c"
        let text = text(report)
        #expect(text.contains("\\<img src=x\\> \\| \\*\\*a\\*\\* \\`b"))
        #expect(!text.contains(", <img"))
        #expect(!text.contains("| a|b"))
    }

    @Test func `the changes between two reports are a page and Markdown, too`() throws {
        let before = SampleReport(seed: 1).make()
        var slow = SampleReport(seed: 2)
        slow.speed = { kind, _ in kind == .spin ? 0.5 : 1 }
        var after = slow.make()
        after.fingerprint.kernel = "<b>{data}"
        let difference = try ReportDifference(from: before, against: after)
        #expect(difference.isWorse)
        let markdown = difference.markdown
        #expect(markdown.split(separator: "\n", omittingEmptySubsequences: false).count < 40)
        #expect(markdown.contains("| spin | on 1 thread | throughput |"))
        let page = String(decoding: ReportPage.html(of: difference), as: UTF8.self)
        #expect(page.contains("<td>spin</td><td>on 1 thread</td><td>throughput</td>"))
        #expect(page.contains("&lt;b&gt;") && !page.contains("<b>"))
        #expect(!page.contains("<script") && !page.contains("http://"))
        let both = try String(decoding: ReportPage(after).html(difference), as: UTF8.self)
        for text in [markdown, page, both] { #expect(text.contains(" worse, ")) }
        #expect(both.contains("&lt;b&gt;&#123;data}"))
        #expect(both.components(separatedBy: "\"schema\":").count == 2, "the data is there once")
    }
}
