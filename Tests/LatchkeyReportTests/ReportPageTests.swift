import Foundation
import LatchkeySync
import Testing

@testable import LatchkeyComparison

/// The page: whole, small, escaped, and without anything from elsewhere.
struct ReportPageTests {
    private func page(_ report: ComparisonReport) -> String {
        var report = report
        report.recommendation = ComparisonReport.Recommendation(report)
        return String(decoding: ReportPage(report).html, as: UTF8.self)
    }

    @Test func `a default run is far below the bound and loads nothing`() {
        let html = page(SampleReport().make())
        #expect(html.utf8.count < 150_000)
        for word in ["<script", "http://", "https://", "src=", "@import", "url("] {
            #expect(!html.contains(word), "\(word)")
        }
        #expect(html.contains("default-src 'none'"))
    }

    @Test func `many workloads stay below the bound, and the page says what is left out`() {
        let workloads = (1...40).map { SampleReport.workload(section: $0 * 10) }
        let html = page(SampleReport(workloads: workloads, repeats: 2).make())
        #expect(html.utf8.count < ReportPage.byteCountMax)
        #expect(html.contains("more workloads are not on this page"))
    }

    @Test func `text from outside is escaped everywhere`() {
        var report = SampleReport(strategies: [.lock, .spin], threads: [1, 2]).make()
        let hostile = "<img src=x onerror=alert(1)> & \"quotes\" 'single' `code"
        report.fingerprint.processorModel = hostile
        report.fingerprint.kernel = hostile
        report.fingerprint.mutex.evidence = hostile
        report.conditions.findings = [hostile]
        report.conditions.ranking = .forced
        report.verdicts[0].outcome = .failed
        report.verdicts[0].finding = hostile
        report.cases[0].strategy = hostile
        report.baselines[0].strategy = hostile
        report.instrument.systemCallsMissingBecause = hostile
        let html = page(report)
        #expect(!html.contains("<img"))
        #expect(!html.contains("'single'"))
        #expect(html.contains("&lt;img src=x onerror=alert(1)&gt; &amp; &quot;quotes&quot;"))
    }

    @Test func `the page is well-formed XML but for its head`() throws {
        var report = SampleReport(
            workloads: [SampleReport.workload(), SampleReport.workload(readRatio: 0.9)]
        ).make()
        report.fits = [
            ComparisonReport.ScalingFit(
                strategy: "lock",
                workload: SampleReport.workload(),
                singleThreadOperationsPerSecond: .init(value: 1e6, low: 9e5, high: 2e6),
                contention: .init(value: 0.9, low: 0.8, high: 1),
                coherency: .init(value: 0.01, low: 0, high: 0.1),
                rSquared: 0.99
            )
        ]
        let html = page(report)
        let body = try #require(html.range(of: "<body>"))
        let end = try #require(html.range(of: "</body>"))
        let parser = XMLChecker(String(html[body.lowerBound..<end.upperBound]))
        #expect(parser.problem == nil)
        #expect(parser.identifiers.count == Set(parser.identifiers).count, "ids are unique")
        #expect(parser.labels.allSatisfy(parser.identifiers.contains))
    }

    @Test func `a run of one number of threads, and one that measured nothing, make a page`() {
        #expect(page(SampleReport(threads: [4]).make()).contains("Throughput on 4 threads"))
        #expect(page(ComparisonReport.empty).contains("no two strategies can be ranked"))
    }

    @Test func `an open loop is plotted from when operations were due`() {
        let sample = SampleReport(strategies: [.lock, .spin], threads: [1, 2])
        let closed = page(sample.make())
        #expect(closed.contains("× alone"))
        #expect(!closed.contains("from when it was due"))
        let open = page(sample.open { $0 == .lock ? 20_000 : 10_000 })
        #expect(open.contains("p99 of the response from when it was due against threads"))
        #expect(open.contains("Response from when it was due on 2 threads"))
        #expect(!open.contains("Throughput against"))
        #expect(!open.contains("× alone"))
    }

    @Test func `a page over HTTP says what another method that is`() {
        var report = SampleReport(strategies: [.lock, .spin], threads: [4]).make()
        #expect(!page(report).contains(HTTPComparison.method))
        report.settings.transport = .http
        #expect(page(report).contains(HTTPComparison.method))
    }

    @Test func `footnotes and bounds are on the page, too`() {
        var report = SampleReport(strategies: [.lock, .actor], threads: [1]).make()
        for index in report.cases.indices {
            report.cases[index].summary.wait?.p50Nanoseconds = 100
        }
        report.crossovers = (0..<61).map { number in
            ComparisonReport.Crossover(
                axis: .threads,
                workload: SampleReport.workload(),
                from: Double(number),
                to: Double(number + 1),
                at: Double(number),
                fasterBelow: "actor",
                fasterAbove: "lock"
            )
        }
        let html = page(report)
        #expect(html.contains("actor *</th>"))
        #expect(html.contains("* has up to 16 operations of a thread under way"))
        #expect(html.contains("<td>≤100 ns</td>"))
        #expect(html.contains("p50 ≤100 ns"))
        #expect(html.contains("and 1 more"))
    }

    @Test func `the sentence of the recommendation comes first`() throws {
        let html = page(SampleReport().make())
        let answer = try #require(html.range(of: "Use <code>adaptive</code>"))
        let plot = try #require(html.range(of: "<svg"))
        #expect(answer.lowerBound < plot.lowerBound)
        #expect(html.contains("It flips:"))
    }
}

/// Whether tags are closed in order, and which ids and references to them there are.
private struct XMLChecker {
    private(set) var problem: String?
    private(set) var identifiers: [String] = []
    private(set) var labels: [String] = []

    init(_ text: String) {
        var open: [Substring] = []
        for piece in text.split(separator: "<").dropFirst(text.hasPrefix("<") ? 0 : 1) {
            guard let end = piece.firstIndex(of: ">") else {
                problem = "a tag without an end: \(piece.prefix(40))"
                return
            }
            let tag = piece[..<end]
            let name = tag.prefix { !" /".contains($0) }
            if tag.hasPrefix("/") {
                let closed = tag.dropFirst()
                guard open.popLast() == closed else {
                    problem = "</\(closed)> closes something else"
                    return
                }
            } else if !tag.hasSuffix("/") {
                open.append(name)
            }
            identifiers += Self.values("id", tag)
            labels += Self.values("aria-labelledby", tag)
        }
        problem = open.isEmpty ? nil : "not closed: \(open)"
    }

    private static func values(_ attribute: String, _ tag: Substring) -> [String] {
        guard let start = tag.range(of: " \(attribute)=\"") else { return [] }
        return tag[start.upperBound...].prefix { $0 != "\"" }.split(separator: " ").map(String.init)
    }
}
