package import LatchkeyComparison

/// The report for a terminal of at most 160 columns, the tables for 80 and more.
///
/// One table for each workload: what strategies are ranked by for every number of threads, and the
/// other figures for the greatest. A wider terminal shows more columns.
package struct TerminalReport {
    private let report: ComparisonReport
    private let ranking: Ranking
    private let style: TerminalStyle

    package init(_ report: ComparisonReport, style: TerminalStyle) {
        self.report = report
        ranking = Ranking(report)
        self.style = style
    }

    package var text: String {
        var parts = [heading]
        parts += report.cases.map(\.workload).uniqued().map(table)
        parts += [findings, fits, crossovers, verdicts, recommendation, method]
        return parts.filter { !$0.isEmpty }.joined(separator: "\n")
    }

    // MARK: What was measured, on what

    private var heading: String {
        let print = report.fingerprint
        let machine = [
            print.processorModel, FigureText.counted(print.processorsOnline, "processor"),
            print.kernel,
            "Swift \(print.swiftVersionAtLeast) or later", print.configuration,
            "Mutex: \(print.mutex.kind.rawValue)",
        ].compactMap(\.self).joined(separator: ", ")
        let settings = report.settings
        let method =
            FigureText.counted(settings.repeats, "repeat") + " of "
            + FigureText.duration(nanoseconds: settings.durationSeconds * 1e9)
            + ", seed \(settings.seed), \(settings.transport.rawValue)"
        let cost = report.instrument
        let instrument =
            "Instrument: clock \(FigureText.duration(nanoseconds: cost.clockNanoseconds)), loop "
            + "\(FigureText.duration(nanoseconds: cost.loopNanosecondsPerOperation)) and metering "
            + "\(FigureText.duration(nanoseconds: cost.meteringNanosecondsPerOperation)) per "
            + "operation, 1 in \(cost.samplingMean) timed."
        return style.paragraph(machine) + style.paragraph(method) + style.paragraph(instrument)
    }

    private var findings: String {
        let conditions = report.conditions
        var lines = conditions.findings.map { style.paragraph("! " + $0, .bad) }
        if report.isInterrupted {
            lines.append(style.paragraph("Interrupted: this is what was finished."))
        }
        return lines.joined()
    }

    // MARK: A workload

    private func table(_ workload: ComparisonReport.Workload) -> String {
        let cases = report.cases.filter { $0.workload == workload }
        let baselines = report.baselines.filter { $0.workload == workload }
        let threads = cases.map(\.threads).uniqued().sorted()
        let greatest = threads.last ?? 1
        let failed = Set(report.verdicts.filter { $0.outcome == .failed }.map(\.strategy))
        let order = StrategyOrder.names(report).filter { name in
            (cases + baselines).contains { $0.strategy == name }
        }
        func find(_ strategy: String, _ count: Int) -> ComparisonReport.Case? {
            (cases + baselines).first { $0.strategy == strategy && $0.threads == count }
        }
        func table(_ shown: [Column]) -> TextTable {
            var table = TextTable(
                headings: ["strategy"] + threads.map { "\($0)" } + shown.map(\.heading)
            )
            table.rows = order.map { strategy in
                let isBaseline = baselines.contains { $0.strategy == strategy }
                let waitsForItself = find(strategy, greatest)?.waitsForItself ?? false
                let name = TextTable.Cell(
                    strategy + (waitsForItself ? " *" : "")
                        + (failed.contains(strategy) ? " WRONG" : ""),
                    failed.contains(strategy) ? .bad : isBaseline ? .faint : .none
                )
                let ranked = threads.map { rankedFigure(find(strategy, $0)) }
                let figures = shown.map { column in
                    let text = find(strategy, greatest).flatMap(column.value)
                    return TextTable.Cell(text ?? "–", text == nil || isBaseline ? .faint : .none)
                }
                return [name] + ranked + figures
            }
            return table
        }
        let choices = Column.choices(Column.all(workload))
        let fitting = choices.lazy.map(table).first { $0.width <= style.tableWidth } ?? table([])
        let title = style.paragraph(WorkloadText.description(workload), .strong)
        return title + fitting.text(style: style) + legend(workload, greatest, cases)
    }

    private func legend(
        _ workload: ComparisonReport.Workload,
        _ greatest: Int,
        _ cases: [ComparisonReport.Case]
    ) -> String {
        let unit = WorkloadText.threadsNoun(workload)
        let best = report.conditions.ranking == .refused ? "" : "; = is best, or as good"
        let figure =
            switch RankedFigure(workload) {
            case .throughput:
                "Operations per second by \(unit), the median; ~ had two modes\(best)."
            case .responseP99:
                "p99 of the response by \(unit), counted from when an operation was due, the "
                    + "median; ~ had two modes; > did not keep up with the rate, and is later the "
                    + "longer it runs\(best); \"due\" is the same response, \"resp\" counts from "
                    + "when the operation began and hides stalls."
            }
        let text =
            figure + " The columns after them are for "
            + WorkloadText.countedThreads(greatest, workload) + "."
        let note =
            cases.contains(where: \.waitsForItself)
            ? style.paragraph(ComparisonReport.Case.waitsForItselfNote) : ""
        return style.paragraph(text) + note
    }

    private func rankedFigure(_ entry: ComparisonReport.Case?) -> TextTable.Cell {
        let figure = entry.map { RankedFigure($0.workload) } ?? .throughput
        guard let entry, let spread = figure.spread(entry) else {
            return TextTable.Cell("–", .faint)
        }
        let text = figure.text(spread.median)
        let mode =
            (figure.worseMode(entry) == nil ? "" : "~") + (RankedFigure.keepsUp(entry) ? "" : ">")
        let isBaseline = ComparisonReport.isBaseline(entry.strategy)
        guard !isBaseline, report.conditions.ranking != .refused,
            leaders(of: entry).contains(entry.strategy)
        else { return TextTable.Cell(mode + text, isBaseline ? .faint : .none) }
        return TextTable.Cell(mode + "=" + text, .good)
    }

    private func leaders(of entry: ComparisonReport.Case) -> [String] {
        let situation = Ranking.Situation(threads: entry.threads, workload: entry.workload)
        return Ranking.leaders(ranking.standings[situation] ?? []).map(\.strategy)
    }

    // MARK: What follows from it

    private var fits: String {
        guard !report.fits.isEmpty else { return "" }
        func band(_ estimate: ComparisonReport.Estimate) -> String {
            "\(FigureText.fixed(estimate.value, 3)) "
                + "[\(FigureText.fixed(estimate.low, 3)), \(FigureText.fixed(estimate.high, 3))]"
        }
        let workloads = report.fits.map(\.workload).uniqued()
        return workloads.map { workload in
            var table = TextTable(
                headings: ["strategy", "contention σ", "coherency κ", "peak threads", "R²"]
            )
            let fits = report.fits.filter { $0.workload == workload }
            table.rows = fits.map { fit in
                [
                    TextTable.Cell(fit.strategy + (report.describesSweep(fit) ? "" : " ?")),
                    TextTable.Cell(band(fit.contention)),
                    TextTable.Cell(band(fit.coherency)),
                    TextTable.Cell(report.peakText(fit)),
                    TextTable.Cell(FigureText.fixed(fit.rSquared, 2)),
                ]
            }
            let title =
                "Universal Scalability Law"
                + (workloads.count > 1 ? ", " + WorkloadText.description(workload) : "")
            let note =
                fits.allSatisfy(report.describesSweep)
                ? "" : style.paragraph(ComparisonReport.missNote)
            return style.paragraph(title, .strong) + table.text(style: style) + note
        }.joined(separator: "\n")
    }

    private static let crossoverCountMax = 12

    private var crossovers: String {
        guard !report.crossovers.isEmpty else { return "" }
        let namesWorkload = report.cases.map(\.workload).uniqued().count > 1
        let shown = report.crossovers.prefix(Self.crossoverCountMax).map {
            style.paragraph(WorkloadText.crossing($0, namesWorkload: namesWorkload))
        }
        let left = report.crossovers.count - shown.count
        return style.paragraph("Crossovers", .strong) + shown.joined()
            + (left > 0 ? style.paragraph("and \(left) more, which JSON and the page have.") : "")
    }

    private var verdicts: String {
        let failed = report.verdicts.filter { $0.outcome != .passed }
        guard !report.verdicts.isEmpty else { return "" }
        guard !failed.isEmpty else {
            let names = report.verdicts.map(\.strategy).uniqued()
            let checks = report.verdicts.map(\.check.rawValue).uniqued().joined(separator: ", ")
            let count = report.verdicts.count
            return style.paragraph(
                (count == 1 ? "The only check" : "All \(count) checks") + " passed (\(checks); "
                    + FigureText.counted(names.count, "strategy") + ")."
            )
        }
        return failed.map { verdict in
            let text =
                "\(verdict.strategy): \(verdict.check.rawValue) \(verdict.outcome.rawValue). "
                + (verdict.finding ?? "")
            return style.paragraph(text, verdict.outcome == .failed ? .bad : .none)
        }.joined()
    }

    private var recommendation: String {
        guard let recommendation = report.recommendation else { return "" }
        let sentence = style.paragraph(recommendation.sentence, .strong)
        let rest = [recommendation.flip] + recommendation.notes
        return sentence + rest.filter { !$0.isEmpty }.map { style.paragraph($0) }.joined()
    }

    private var method: String {
        report.settings.transport == .http ? style.paragraph(HTTPComparison.method) : ""
    }
}
