import Foundation
import LatchkeyStrategies
import Testing

@testable import LatchkeyComparison
@testable import LatchkeyReport

struct TerminalReportTests {
    private func text(_ report: ComparisonReport, width: Int, usesColor: Bool = false) -> String {
        var report = report
        report.recommendation = report.verdict
        return report.terminal(width: width, usesColor: usesColor)
    }

    @Test func `prose goes by a narrower terminal, and tables do not`() {
        var report = SampleReport().make()
        report.isInterrupted = true
        report.settings.transport = .http
        let lines = text(report, width: 40).split(separator: "\n")
        let names = report.cases.map(\.strategy) + report.baselines.map(\.strategy) + ["strategy"]
        let (table, prose) = (
            lines.filter { line in names.contains { line.hasPrefix($0 + " ") } },
            lines.filter { line in !names.contains { line.hasPrefix($0 + " ") } }
        )
        #expect(prose.allSatisfy { $0.count <= 40 })
        #expect(table.contains { $0.count > 40 })
    }

    @Test(arguments: [40, 80, 120])
    func `over HTTP the method is a paragraph at the end`(width: Int) {
        var report = SampleReport(strategies: [.lock, .spin]).make()
        #expect(!text(report, width: width).contains("wrk"))
        report.settings.transport = .http
        let paragraph = text(report, width: width).components(separatedBy: "\n\n").last ?? ""
        let words = paragraph.split { $0.isWhitespace }.joined(separator: " ")
        #expect(words == HTTPComparison.method(.closed))
        #expect(paragraph.split(separator: "\n").allSatisfy { $0.count <= width })
    }

    @Test(arguments: ["\u{202E}", "\u{2066}", "\u{200F}", "\u{61C}", "\u{2028}", "\u{1B}"])
    func `characters that turn or break text are replaced, on each kind of report`(
        mark: String
    ) throws {
        var report = SampleReport(strategies: [.lock, .spin]).make()
        report.fingerprint.processorModel = "model\(mark)of"
        for index in report.cases.indices { report.cases[index].strategy += "\(mark)x" }
        report.conclude(isForced: false)
        let page = try String(decoding: ReportPage(report).html(), as: UTF8.self)
        let difference = try ReportDifference(from: report, against: report)
        for text in [
            text(report, width: 160), MarkdownReport(report).text, page,
            String(decoding: ReportPage.html(of: difference), as: UTF8.self),
            difference.text(style: TerminalStyle(width: 100, usesColor: false)),
        ] {
            #expect(!text.unicodeScalars.contains(mark.unicodeScalars.first ?? "a"))
        }
        #expect(text(report, width: 160).contains("spin\u{FFFD}x"))
    }

    @Test(arguments: [(1, false), (2, true)])
    func `one repeat has no interval, and two that are equal have one`(
        repeats: Int,
        hasInterval: Bool
    ) throws {
        let sample = SampleReport(strategies: [.spin], threads: [1], repeats: repeats, noise: 0)
        let lines = text(sample.make(), width: 160).split(separator: "\n")
        #expect(
            lines.count { $0.hasPrefix("spin ") && $0.contains(" none ") } == (hasInterval ? 0 : 1)
        )
        let page = try String(decoding: ReportPage(sample.make()).html(), as: UTF8.self)
        #expect(page.contains("\"hasInterval\":true") == hasInterval)
        #expect(page.components(separatedBy: "hasInterval").count > 4, "the script asks for it")
        #expect(!page.contains("=== high") && !page.contains("=== ranked.intervalHigh"))
    }

    @Test func `one of a kind is in the singular`() {
        var sample = SampleReport(strategies: [.lock], threads: [1])
        sample.repeats = 1
        sample.workloads[0].arrival = .open(operationsPerSecond: 1)
        var report = sample.make()
        report.fingerprint.processorsOnline = 1
        report.verdicts = Array(report.verdicts.prefix(1))
        let text = text(report, width: 160).split { $0.isWhitespace }.joined(separator: " ")
        for part in [
            ", 1 processor, ", "1 repeat of ", "are for 1 thread.", ", 1 arrival per second",
            "The only check passed (counts; 1 strategy).",
        ] {
            #expect(text.contains(part), "\(part)")
        }
    }

    @Test(arguments: [60, 80, 100, 120, 160])
    func `no line is longer than the terminal`(width: Int) {
        for report in [SampleReport().make(), SampleReport(strategies: [.lock, .actor]).make()] {
            for line in text(report, width: width).split(separator: "\n") {
                #expect(line.count <= width, "\(line)")
            }
        }
    }

    @Test func `a terminal too narrow for all columns says how to see them`() {
        let report = SampleReport().make()
        let all = text(report, width: 180)
        #expect(!all.contains("More columns"))
        let width = all.split(separator: "\n").first { $0.hasPrefix("strategy") }?.count ?? 0
        #expect(!text(report, width: width).contains("More columns"))
        #expect(
            text(report, width: width - 1).contains(
                "\nMore columns: use a terminal of \(width) columns, --csv or --html.\n"
            )
        )
    }

    @Test(arguments: [80, 160], [false, true])
    func `control characters of a foreign report do not reach the terminal`(
        width: Int,
        usesColor: Bool
    ) {
        var report = SampleReport(strategies: [.lock, .spin]).make()
        let plain = text(report, width: width, usesColor: usesColor)
        report.fingerprint.processorModel = "A\u{1B}]0;B\u{7}C\r\nD\u{9B}E"
        report.cases[0].strategy = "lo\u{1B}[2Jck"
        let text = text(report, width: width, usesColor: usesColor)
        #expect(text.contains("A\u{FFFD}]0;B\u{FFFD}C\u{FFFD}D\u{FFFD}E"))
        func controls(_ text: String) -> Set<String> {
            Set(
                text.split(separator: "m").flatMap { piece in
                    piece.unicodeScalars.filter { $0.properties.generalCategory == .control }
                        .map { "\($0.value)" }
                }
            )
        }
        #expect(controls(text) == controls(plain))
    }

    @Test func `colour is only there where it is allowed, and says nothing alone`() {
        let report = SampleReport().make()
        let plain = text(report, width: 120)
        let colored = text(report, width: 120, usesColor: true)
        #expect(!plain.contains("\u{1B}"))
        #expect(colored.contains("\u{1B}["))
        let stripped = colored.split(separator: "\u{1B}").enumerated().map { index, piece in
            index == 0 && !colored.hasPrefix("\u{1B}")
                ? String(piece) : String(piece.drop { $0 != "m" }.dropFirst())
        }.joined()
        #expect(stripped == plain)
    }

    @Test func `a small report looks like this`() {
        let report = SampleReport(strategies: [.lock, .spin], threads: [1, 2], noise: 0).make()
        let count = StrategyKind.allCases.count
        #expect(
            text(report, width: 80) == """
                Example <CPU> & Co, 2 processors, Linux 6.18.0, Swift 6.3.1 or later, release
                  build, Mutex: priority-inheriting-futex
                5 repeats of 200 ms, seed 1, in process
                Cost of measuring: clock 22.5 ns; per operation, loop 1.20 ns and metering 3.40
                  ns; 1 operation in 64 is timed on average.

                50 % reads, section 50 ns, outside 200 ns
                strategy             1       2  of best    interval  wait p99  cpu/op  Jain
                spin            =47.0M  =46.1M    100 %  46.1–46.1M   1.74 µs  143 ns  0.96
                lock             38.0M   38.8M     84 %  38.8–38.8M   2.06 µs  152 ns  0.96
                unsynchronized   80.0M       –        –           –         –       –     –
                bare-mutex       39.9M   40.7M        –  40.7–40.7M   1.96 µs  149 ns  0.96
                Median operations per second for each number of threads; = no other is surely
                  better by 10 %; ~ two modes; ! one slow repeat. The columns after them are for
                  2 threads.
                More columns: use a terminal of 154 columns, --csv or --html.

                All \(2 * count) checks passed (counts, laws; \(count) strategies).

                Use `spin`: 21 % more than `lock` on average over 1 to 2 threads.
                No other is surely better by 10 % in either case.
                - `spin`: 21 % more than `lock` on average over all cases (95 % interval: 21 %).

                """
        )
    }

    @Test(arguments: [80, 100, 120, 140, 160])
    func `columns stand in one order, whichever of them fit`(width: Int) throws {
        let report = SampleReport(strategies: [.lock, .spin], threads: [1, 2, 4, 8]).make()
        let text = text(report, width: width)
        let heading = try #require(text.split(separator: "\n").first { $0.hasPrefix("strategy") })
        let order = [
            "strategy", "of best", "interval", "wait p50", "wait p99", "wait max", "hold p50",
            "hold p99", "cont.",
            "hand-offs/s", "cpu/op", "vol.sw/s", "Jain", "× alone",
        ]
        let places = order.compactMap { heading.range(of: $0)?.lowerBound }
        #expect(places == places.sorted())
        #expect(places.count >= 3)
    }

    @Test func `a time below the first bucket is an upper bound`() {
        var report = SampleReport(strategies: [.lock, .spin], threads: [1]).make()
        for index in report.cases.indices {
            report.cases[index].summary.wait?.p50Nanoseconds = 100
            report.cases[index].summary.wait?.p99Nanoseconds = 101
            report.cases[index].summary.wait?.maxNanoseconds = 60
        }
        let lines = text(report, width: 160).split(separator: "\n")
        let line = lines.first { $0.hasPrefix("spin") } ?? ""
        #expect(line.contains(" ≤100 ns    101 ns     60 ns   ≤100 ns"), "\(line)")
    }

    @Test func `an open loop shows the response from when it was due`() throws {
        let report = SampleReport(strategies: [.lock, .spin], threads: [1, 2]).open {
            $0 == .lock ? 20_000 : 10_000
        }
        let lines = text(report, width: 120).split(separator: "\n")
        let heading = try #require(lines.first { $0.hasPrefix("strategy") })
        for name in ["due p50", "due max", "resp p99", "ops/s"] {
            #expect(heading.contains(name), "\(heading)")
        }
        #expect(!lines.contains { $0.contains("× alone") })
        let best = try #require(lines.first { $0.hasPrefix("spin") })
        #expect(best.contains(" =10.0 µs  =10.0 µs  "), "\(best)")
        #expect(
            lines.contains {
                $0.hasPrefix("Median p99 of the response for each number of threads, counted")
            }
        )
    }

    @Test func `asynchronous strategies have a footnote`() {
        let plain = text(SampleReport(strategies: [.lock, .spin]).make(), width: 120)
        #expect(!plain.contains("16 operations"))
        let text = text(SampleReport(strategies: [.lock, .actor]).make(), width: 120)
        #expect(text.contains("actor * "))
        #expect(text.contains("* has up to 16 operations of a thread in progress"))
    }

    @Test func `crossovers of the best three are listed, and the others counted`() {
        var report = SampleReport(strategies: [.adaptive, .spin, .lock, .monitor, .mutex]).make()
        #expect(Ranking(report).bestThree == ["adaptive", "spin", "lock"])
        report.crossovers = [
            .sample(1, "spin", "monitor"), .sample(2, "mutex", "lock"),
            .sample(4, "mutex", "monitor"),
        ]
        let text = text(report, width: 120)
        #expect(text.contains("Between 1 and 2 threads `monitor` overtakes `spin`.\n"))
        #expect(text.contains("Between 2 and 4 threads `lock` overtakes `mutex`.\n"))
        #expect(!text.contains("Between 4 and 8"))
        #expect(text.contains("and 1 more, in the JSON file."))
        report.crossovers = (1...15).map { .sample(Double($0), "spin", "lock") }
        #expect(self.text(report, width: 120).contains("and 3 more, in the JSON file."))
    }

    @Test func `where a strategy overtakes is told as closely as it was measured`() {
        var crossing = ComparisonReport.Crossover.sample(1, "spin", "lock")
        crossing.axis = .readRatio
        (crossing.from, crossing.to, crossing.threads) = (0.5, 0.9, 4)
        #expect(
            WorkloadText.crossing(crossing, namesWorkload: false)
                == "Between 50 % and 90 % reads on 4 threads `lock` overtakes `spin`."
        )
    }

    @Test func `a failed check is the loudest thing`() {
        var report = SampleReport(strategies: [.lock, .spin, .mutex]).make()
        report.verdicts = [
            ComparisonReport.Verdict(
                strategy: "spin",
                check: .counts,
                outcome: .failed,
                checkedCount: 7,
                finding: "Two updates were lost."
            )
        ]
        let text = text(report, width: 80)
        #expect(text.contains("spin WRONG"))
        #expect(text.contains("spin: counts failed. Two updates were lost."))
    }
}

struct ProgressLineTests {
    private func progress(_ finished: Int, _ seconds: Double) -> ComparisonProgress {
        ComparisonProgress(
            finishedCount: finished,
            totalCount: 200,
            elapsedSeconds: seconds,
            remainingSeconds: 90,
            current: "spin, 4 threads"
        )
    }

    @Test func `a log gets a line for each tenth`() {
        var lines: [String] = []
        var line = ProgressLine(isTerminal: false, width: 80) { lines.append($0) }
        for finished in 0...200 { line.show(progress(finished, Double(finished))) }
        line.finish()
        #expect(lines.count == 11)
        #expect(lines[0] == "latchkey: 0 % done, 1 min 30 s left, now spin, 4 threads\n")
        #expect(lines.allSatisfy { !$0.contains("\r") })
    }

    @Test func `a terminal is drawn over, not too often and not too wide`() {
        var pieces: [String] = []
        var line = ProgressLine(isTerminal: true, width: 60) { pieces.append($0) }
        for finished in 0..<200 {
            line.show(progress(finished, Double(finished) / 100))
        }
        line.finish()
        #expect((10...25).contains(pieces.count))
        #expect(pieces.dropLast().allSatisfy { $0.hasPrefix("\r") && $0.count <= 60 + 4 })
        #expect(pieces.last == "\r\u{1B}[K")
    }
}
