import Foundation
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyComparison
@testable import LatchkeyReport
@testable import LatchkeyVerdict

/// The page as it is written: small, and with nothing from elsewhere.
struct ReportPageTests {
    @Test func `a default run is far below the bound and loads nothing`() throws {
        let html = try page(SampleReport().make())
            .replacing("http://www.w3.org/2000/svg", with: "the name of SVG")
        #expect(html.utf8.count < 150_000)
        for word in ["http://", "https://", "src=", "@import", "url(", "{nonce}", "{data}"] {
            #expect(!html.contains(word), "\(word)")
        }
        #expect(html.contains("default-src 'none'"))
    }

    @Test func `many workloads stay below the bound, and the others are counted`() throws {
        let workloads = (1...40).map { SampleReport.workload(section: $0 * 10) }
        let html = try page(SampleReport(workloads: workloads, repeats: 2).make())
        #expect(html.utf8.count < ReportPage.byteCountMax)
        let list = try #require(html.firstMatch(of: /"workloads":\[[^\]]*\]/)).output
        let shown = workloads.count {
            list.contains("section \($0.sectionNanoseconds) ns, outside")
        }
        #expect(shown > 1)
        #expect(html.contains("\"workloadsLeft\":\(workloads.count - shown)"))
    }

    @Test func `a strategy looks the same in every report, and no two look the same`() {
        let names = StrategyKind.allCases.map(\.rawValue) + ["unsynchronized", "mine", "yours"]
        let all = StrategyLook.numbers(names)
        #expect(Set(all.values).count == names.count)
        for name in names { #expect(StrategyLook.numbers([name])[name] == all[name], "\(name)") }
        #expect(all["serial-queue"] == 0)
    }

    @Test func `text from outside cannot end the data, and no other script runs`() throws {
        let html = try page(.hostile)
        let start = try #require(html.range(of: "<script type=\"application/json\""))
        let data = html[start.upperBound...].prefix { $0 != "<" }
        #expect(data.contains("\\u003c/script>\\u003cimg src=x"))
        #expect(html[data.endIndex...].hasPrefix("</script>\n<script nonce="))
        #expect(html.split(separator: "<script").count == 3)
    }
}

/// The page as a browser shows it.
///
/// Skipped where Chromium is not installed.
@Suite(.serialized, .timeLimit(.minutes(15)), .enabled(if: Chromium.path != nil))
struct RenderedPageTests {
    @Test func `the recommendation comes first, then workloads, crossovers, checks and method`()
        throws
    {
        var report = SampleReport(
            workloads: [SampleReport.workload(), SampleReport.workload(readRatio: 0.9)]
        ).make()
        report.crossovers = [.sample(2, "lock", "spin")]
        let body = try rendered(report)
        let places = [
            "aria-label=\"Recommendation\"", "More about it", "Reads against writes",
            "id=\"w1\">Workload 1: ",
            "id=\"w2\">Workload 2: ",
            "id=\"crossovers\">Crossovers", "How it was measured",
        ].map { body.range(of: $0)?.lowerBound }
        #expect(!places.contains(nil))
        #expect(places.compactMap(\.self) == places.compactMap(\.self).sorted())
        let identifiers = body.split(separator: " id=\"").dropFirst().map {
            $0.prefix { $0 != "\"" }
        }
        #expect(identifiers.count == Set(identifiers).count, "ids are unique")
    }

    @Test func `the verdict has its plot beside it, with five strategies, and the others are grey`()
        throws
    {
        let body = try rendered(try RecordedVerdictTests.report("quiet-adaptive"))
        let places = [
            "Use <code>adaptive</code>: 53", "collapses above 4 threads", "<svg",
            "The strategies of the verdict", "id=\"w1\"",
        ].map { body.range(of: $0)?.lowerBound }
        #expect(!places.contains(nil))
        #expect(places.compactMap(\.self) == places.compactMap(\.self).sorted())
        #expect(body.matches(of: /class="c\d( leading)? other"/).count == 12)
        let few = try #require(body.firstMatch(of: /<g class="few">(.*?)<g class="many">/))
        let names = few.1.matches(of: /class="name"[^>]*>([^<]+)</).map { String($0.1) }
        #expect(Set(names) == ["adaptive", "lock", "mutex", "spin", "snapshot"])
        #expect(body.contains("All strategies"))
    }

    @Test func `crossovers of which none is shown are told in a sentence, not in an empty list`()
        throws
    {
        var report = SampleReport(threads: [1, 2]).make()
        report.crossovers = [.sample(1, "actor", "barrier-queue")]
        let body = try rendered(report)
        #expect(body.contains("None of the best three is overtaken; 1 crossover of others in"))
        #expect(!body.contains("<li>and 1 more"))
    }

    @Test func `text from outside stays text`() throws {
        let body = try rendered(.hostile)
        #expect(!body.contains("<img"))
        #expect(body.contains("&lt;img src=x onerror=alert(1)&gt; &amp; \"quotes\" 'single' `code"))
    }

    @Test func `a run of one number of threads, and one that measured nothing, make a page`()
        throws
    {
        var report = SampleReport(threads: [4]).make()
        report.fingerprint.processorsOnline = 1
        let body = try rendered(report)
        #expect(body.contains("Throughput on 4 threads"))
        #expect(body.contains("· 1 processor ·"))
        for entry in report.cases {
            let summary = entry.summary
            #expect(body.contains(">\(FigureText.count(summary.operationsPerSecond.median))<"))
            #expect(
                body.contains(
                    ">\(FigureText.duration(nanoseconds: summary.nanosecondsPerOperation))<"
                )
            )
        }
        #expect(try rendered(.empty).contains("no two strategies can be ranked"))
    }

    @Test func `of several workloads, the page says which one it shows first`() throws {
        var report = SampleReport(strategies: [.lock, .spin], threads: [1, 2]).make()
        let single = try rendered(report)
        #expect(!single.contains("orkload 1") && !single.contains("rounds"))
        report.add(SampleReport.workload(readRatio: 0.99))
        var random = SeededRandom(seed: 1)
        report.addRounds(noise: 0.01, &random)
        let body = try rendered(report)
        #expect(body.contains("<b>Throughput, workload 1</b>"))
        #expect(body.contains(" Workload 1: 50&nbsp;% reads, section 50&nbsp;ns"))
        #expect(body.contains("<b>Throughput, workload 2</b>"))
        #expect(body.contains("Throughput is then that of the rounds"))
    }

    @Test func `an open loop is plotted from when operations were due`() throws {
        let sample = SampleReport(strategies: [.lock, .spin], threads: [1, 2])
        let closed = try rendered(sample.make())
        #expect(closed.contains("× alone"))
        #expect(!closed.contains("from when it was due"))
        #expect(!closed.contains(HTTPComparison.method(.closed)))
        var report = sample.open { $0 == .lock ? 20_000 : 10_000 }
        report.settings.transport = .http
        let open = try rendered(report)
        #expect(open.contains("p99 of the response from when it was due against threads"))
        #expect(open.contains("Response from when it was due on 2 threads"))
        #expect(!open.contains("Throughput against"))
        #expect(!open.contains("× alone"))
        #expect(open.contains(HTTPComparison.method(report.settings.arrival)))
    }

    @Test func `footnotes and bounds are on the page, too`() throws {
        var report = SampleReport(strategies: [.lock, .actor], threads: [1]).make()
        for index in report.cases.indices {
            report.cases[index].summary.wait?.p50Nanoseconds = 100
        }
        report.crossovers = (1...61).map { .sample(Double($0), "actor", "lock") }
        let body = try rendered(report)
        #expect(body.contains("actor *</th>"))
        #expect(body.contains("* has up to 16 operations of a thread in progress"))
        #expect(body.contains("<td>≤100 ns</td>"))
        #expect(body.contains("p50 ≤100 ns"))
        #expect(body.contains("and 1 more"))
        #expect(body.contains("<details><summary>All figures (4 rows)</summary>"))
    }

    /// The elements that the script made; what it complains about is an issue.
    private func rendered(_ report: ComparisonReport) throws -> String {
        let folder = try TemporaryFolder()
        let file = folder.path + "/page.html"
        try ReportFile.write(Array(page(report).utf8), to: file)
        let (text, complaints) = try Chromium.show(file, profile: folder.path + "/profile")
        #expect(complaints == [])
        let start = try #require(text.range(of: "<header>"))
        let end = try #require(text.range(of: "<noscript>"))
        return String(text[start.lowerBound..<end.lowerBound])
    }
}

private func page(_ report: ComparisonReport) throws -> String {
    var report = report
    report.recommendation = report.verdict
    return try String(decoding: ReportPage(report).html(), as: UTF8.self)
}

extension ComparisonReport {
    /// Adds the same cases under another workload.
    fileprivate mutating func add(_ other: Workload) {
        cases += cases.map { entry in
            var entry = entry
            entry.workload = other
            return entry
        }
    }

    /// A report with markup wherever text from outside has a place.
    fileprivate static var hostile: ComparisonReport {
        var report = SampleReport(strategies: [.lock, .spin], threads: [1, 2]).make()
        let text = "</script><img src=x onerror=alert(1)> & \"quotes\" 'single' `code"
        report.fingerprint.processorModel = text
        report.fingerprint.kernel = text
        report.fingerprint.mutex.evidence = text
        report.conditions.findings = [text]
        report.conditions.ranking = .forced
        report.verdicts[0].outcome = .failed
        report.verdicts[0].finding = text
        report.cases[0].strategy = text
        report.baselines[0].strategy = text
        report.instrument.systemCallsMissingBecause = text
        return report
    }
}

private enum Chromium {
    static let path = [
        "/usr/bin/chromium", "/usr/bin/chromium-browser",
        "/usr/bin/google-chrome",
    ]
    .first(where: FileManager.default.isExecutableFile)

    /// The page after its scripts have run, and their output on the console.
    static func show(_ file: String, profile: String) throws -> (String, [String]) {
        let process = Process()
        let output = Pipe()
        let log = profile + ".log"
        #expect(FileManager.default.createFile(atPath: log, contents: nil))
        process.executableURL = URL(filePath: try #require(path))
        process.arguments = [
            "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
            "--user-data-dir=\(profile)", "--dump-dom", "file://\(file)",
        ]
        process.standardOutput = output
        process.standardError = try FileHandle(forWritingTo: URL(filePath: log))
        try process.run()
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
        return (
            String(decoding: text, as: UTF8.self),
            lines.filter { $0.contains("CONSOLE") }.map(String.init)
        )
    }
}
