package import LatchkeyComparison
internal import LatchkeyVerdict

/// The report for a terminal of at most 180 columns; tables need at least 80.
///
/// One table for each workload: the ranked figure for every number of threads, and the other
/// figures for the greatest number. A wider terminal shows more columns.
package struct TerminalReport {
    private static let crossoverCountMax = 12

    private let report: ComparisonReport
    private let ranking: Ranking
    private let style: TerminalStyle
    private let workloads: [ComparisonReport.Workload]

    package init(_ report: ComparisonReport, style: TerminalStyle) {
        self.report = report
        ranking = Ranking(report)
        self.style = style
        workloads = report.cases.map(\.workload).uniqued()
    }

    package var text: String {
        let method =
            report.settings.transport == .http
            ? HTTPComparison.method(report.settings.arrival) : ""
        let parts =
            [heading] + workloads.map(section)
            + [warnings, crossovers, checks, recommendation, paragraphs([method])]
        return parts.filter { !$0.isEmpty }.joined(separator: "\n")
    }

    private func paragraphs(_ texts: [String], _ emphasis: TextTable.Emphasis = .none) -> String {
        texts.filter { !$0.isEmpty }.map { style.paragraph($0, emphasis) }.joined()
    }

    private var heading: String {
        let settings = report.settings
        let time = FigureText.duration
        let cost = report.instrument
        return paragraphs([
            report.machine, report.cacheLineText,
            "\(FigureText.counted(settings.repeats, "repeat")) of "
                + "\(FigureText.given(seconds: settings.durationSeconds)), seed \(settings.seed), "
                + (settings.transport == .http ? "over HTTP" : "in process"),
            "Cost of measuring: clock \(time(cost.clockNanoseconds)); per operation, loop "
                + "\(time(cost.loopNanosecondsPerOperation)) and metering "
                + "\(time(cost.meteringNanosecondsPerOperation)); 1 operation in "
                + "\(cost.samplingMean) is timed on average.",
        ])
    }

    private var warnings: String {
        paragraphs(report.conditions.findings.map { "! " + $0 }, .bad)
            + paragraphs(report.conditions.disturbances)
    }

    // MARK: A workload

    private func section(_ workload: ComparisonReport.Workload) -> String {
        let cases = WorkloadTable(report, ranking, workload)
        let (entries, threads) = (cases.entries, cases.threads)
        let columns = TerminalColumn.all(isOpen: workload.arrival != .closed, ranking)
            .filter { column in
                entries.contains { $0.threads == threads.last && column.text($0) != nil }
            }
        let tables = columns.map(\.order).uniqued().sorted(by: >).lazy.map { last in
            table(cases, columns.filter { $0.order <= last })
        }
        let fitting = tables.first { $0.width <= style.tableWidth } ?? table(cases, [])
        let others =
            " The columns after them are for "
            + WorkloadText.countedThreads(threads.last ?? 1, workload) + "."
        let note =
            entries.contains(where: \.waitsForItself)
            ? ComparisonReport.Case.waitsForItselfNote : ""
        return style.paragraph(WorkloadText.description(workload), .strong)
            + fitting.text(style: style)
            + paragraphs([
                legend(workload) + others, note, hint(table(cases, columns), fitting),
            ])
    }

    /// How to see the columns that were left out.
    private func hint(_ whole: TextTable, _ shown: TextTable) -> String {
        guard shown.width < whole.width else { return "" }
        let width = min(whole.width, TerminalStyle.widthRange.upperBound)
        let terminal = style.width < width ? "a terminal of \(width) columns, " : ""
        return "More columns: use \(terminal)--csv or --html."
    }

    private func table(_ cases: WorkloadTable, _ columns: [TerminalColumn]) -> TextTable {
        let failed = report.verdicts.filter { $0.outcome == .failed }.map(\.strategy)
        var table = TextTable(
            headings: ["strategy"] + cases.threads.map(String.init) + columns.map(\.heading)
        )
        for (strategy, cases) in cases.rows {
            let last = cases.last ?? nil
            let emphasis: TextTable.Emphasis =
                failed.contains(strategy)
                ? .bad : ComparisonReport.isBaseline(strategy) ? .faint : .none
            let name =
                strategy + (last?.waitsForItself == true ? " *" : "")
                + (emphasis == .bad ? " WRONG" : "")
            table.rows.append(
                [TextTable.Cell(name, emphasis)]
                    + cases.map(rankedFigure)
                    + columns.map { column in
                        let text = last.flatMap(column.text)
                        return TextTable.Cell(text ?? "–", text == nil ? .faint : emphasis)
                    }
            )
        }
        return table
    }

    private func rankedFigure(_ entry: ComparisonReport.Case?) -> TextTable.Cell {
        guard let entry, let spread = RankedFigure(entry.workload).spread(entry) else {
            return TextTable.Cell("–", .faint)
        }
        let figure = RankedFigure(entry.workload)
        let isBest = ranking.isBest(entry)
        let text = figure.marks(entry) + (isBest ? "=" : "") + figure.text(spread.median)
        let isBaseline = ComparisonReport.isBaseline(entry.strategy)
        return TextTable.Cell(text, isBest ? .good : isBaseline ? .faint : .none)
    }

    private func legend(_ workload: ComparisonReport.Workload) -> String {
        let unit = WorkloadText.threadNoun(workload)
        let best =
            report.conditions.ranking == .refused
            ? "" : "= no other is surely better by 10 %; "
        return switch RankedFigure(workload) {
        case .throughput:
            "Median operations per second for each number of \(unit)s; \(best)~ two modes; ! one "
                + "slow repeat."
        case .responseP99:
            "Median p99 of the response for each number of \(unit)s, counted from when an "
                + "operation was due; \(best)~ two modes; ! one slow repeat; > did not keep up "
                + "with the rate, and its response grows with the length of the run. \"due\" is "
                + "the same response; "
                + "\"resp\" counts from when the operation began and hides stalls."
        }
    }

    // MARK: Conclusions

    private var crossovers: String {
        let shown = report.crossovers.filter { $0.touches(ranking.bestThree) }
            .prefix(Self.crossoverCountMax)
        guard !shown.isEmpty else { return "" }
        let left = report.crossovers.count - shown.count
        return style.paragraph("Crossovers", .strong)
            + paragraphs(
                shown.map { WorkloadText.crossing($0, namesWorkload: workloads.count > 1) }
                    + (left > 0 ? ["and \(left) more, in the JSON file."] : [])
            )
    }

    private var checks: String {
        let verdicts = report.verdicts
        guard !verdicts.isEmpty else { return "" }
        guard verdicts.allSatisfy({ $0.outcome == .passed }) else {
            return verdicts.filter { $0.outcome != .passed }.map { verdict in
                style.paragraph(verdict.sentence, verdict.outcome == .failed ? .bad : .none)
            }.joined()
        }
        let checks = verdicts.map(\.check.rawValue).uniqued().joined(separator: ", ")
        let count = verdicts.map(\.strategy).uniqued().count
        return style.paragraph(
            (verdicts.count == 1 ? "The only check" : "All \(verdicts.count) checks")
                + " passed (\(checks); \(FigureText.counted(count, "strategy")))."
        )
    }

    private var recommendation: String {
        guard let found = report.recommendation else { return "" }
        return paragraphs(found.lines, .strong) + paragraphs(found.rest.map { "- " + $0 })
    }
}

extension ComparisonReport.Verdict {
    fileprivate var sentence: String {
        "\(strategy): \(check.rawValue) \(outcome.rawValue). " + (finding ?? "")
    }
}
