import Foundation
import Testing
@testable import LatchkeyComparison
struct ZZScratch {
    @Test func `writes samples to look at`() throws {
        var r = SampleReport().make()
        r.recommendation = .init(r)
        for w in [80, 120, 160] { print(TerminalReport(r, style: .init(width: w, usesColor: false)).text) }
        try ReportFile.write(ReportPage(r).html, to: "/tmp/sample.html")
        try ReportFile.write(r.json(), to: "/tmp/sample.json")
    }
}
