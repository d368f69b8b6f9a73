/// The report for a terminal of 80 to 160 columns.
///
/// One table for each workload: throughput for every number of threads, and the other figures for
/// the greatest. A wider terminal shows more columns.
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
        parts += [findings, fits, verdicts, recommendation]
        return parts.filter { !$0.isEmpty }.joined(separator: "\n")
    }

    // MARK: What was measured, on what

    private var heading: String {
        let print = report.fingerprint
        let machine = [
            print.processorModel, "\(print.processorsOnline) processors", print.kernel,
            "Swift \(print.swiftVersionAtLeast) or later", print.configuration,
            "Mutex: \(print.mutex.kind.rawValue)",
        ].compactMap(\.self).joined(separator: ", ")
        let settings = report.settings
        let method =
            "\(settings.repeats) repeats of "
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
            lines.append("Interrupted: this is what was finished.\n")
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
        let columns = Self.columns(workload)
        func table(_ shown: [Column]) -> TextTable {
            var table = TextTable(
                headings: ["strategy"] + threads.map { "\($0)" } + shown.map(\.heading)
            )
            table.rows = order.map { strategy in
                let isBaseline = baselines.contains { $0.strategy == strategy }
                let name = TextTable.Cell(
                    strategy + (failed.contains(strategy) ? " WRONG" : ""),
                    failed.contains(strategy) ? .bad : isBaseline ? .faint : .none
                )
                let throughputs = threads.map { throughput(find(strategy, $0)) }
                let figures = shown.map { column in
                    let text = find(strategy, greatest).flatMap { column.value($0.summary) }
                    return TextTable.Cell(text ?? "–", text == nil || isBaseline ? .faint : .none)
                }
                return [name] + throughputs + figures
            }
            return table
        }
        let tables = columns.indices.reversed().lazy.map { table(Array(columns[...$0])) }
        let fitting = tables.first { $0.width <= style.width } ?? table([])
        let unit = workload.threadMode == nil ? "threads" : "connections"
        let title = style.paragraph(WorkloadText.description(workload), .strong)
        let best = report.conditions.ranking == .refused ? "" : "; = is best, or as good"
        let legend =
            "Operations per second by \(unit), the median; ~ had two modes\(best). The columns "
            + "after them are for \(greatest) \(unit)."
        return title + fitting.text(style: style) + style.paragraph(legend)
    }

    private func throughput(_ entry: ComparisonReport.Case?) -> TextTable.Cell {
        guard let entry else { return TextTable.Cell("–", .faint) }
        let text = FigureText.count(entry.summary.operationsPerSecond.median)
        let mode = entry.summary.isBistable ? "~" : ""
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

    private struct Column {
        var heading: String
        var value: (ComparisonReport.Summary) -> String?
    }

    /// The figures by importance: what does not fit is left out from the end.
    private static func columns(_ workload: ComparisonReport.Workload) -> [Column] {
        func time(_ value: Double?) -> String? { value.map(FigureText.duration) }
        let overWire = workload.threadMode != nil
        let response = [
            Column(heading: "resp p50") { time($0.response?.p50Nanoseconds) },
            Column(heading: "resp p99") { time($0.response?.p99Nanoseconds) },
        ]
        return (overWire ? response : []) + [
            Column(heading: "wait p99") { time($0.wait?.p99Nanoseconds) },
            Column(heading: "cpu/op") {
                time($0.cpuSecondsPerMillionOperations.map { $0 * 1_000 })
            },
            Column(heading: "Jain") { $0.jainIndex.map { FigureText.fixed($0, 2) } },
            Column(heading: "cont.") { $0.contendedRatio.map(FigureText.percent) },
            Column(heading: "wait max") { time($0.wait?.maxNanoseconds) },
            Column(heading: "wait p50") { time($0.wait?.p50Nanoseconds) },
            Column(heading: "hold p50") { time($0.hold?.p50Nanoseconds) },
            Column(heading: "hold p99") { time($0.hold?.p99Nanoseconds) },
            Column(heading: "hand-offs/s") { $0.handOffsPerSecond.map(FigureText.count) },
            Column(heading: "vol.sw/s") { $0.voluntarySwitchesPerSecond.map(FigureText.count) },
            Column(heading: "× alone") {
                $0.costAgainstUnsynchronized.map { FigureText.fixed($0, $0 < 9.95 ? 1 : 0) }
            },
        ]
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
            table.rows = report.fits.filter { $0.workload == workload }.map { fit in
                [
                    TextTable.Cell(fit.strategy),
                    TextTable.Cell(band(fit.contention)),
                    TextTable.Cell(band(fit.coherency)),
                    TextTable.Cell(fit.peakThreads.map { FigureText.fixed($0, 1) } ?? "none"),
                    TextTable.Cell(FigureText.fixed(fit.rSquared, 2)),
                ]
            }
            let title =
                "Universal Scalability Law"
                + (workloads.count > 1 ? ", " + WorkloadText.description(workload) : "")
            return style.paragraph(title, .strong) + table.text(style: style)
        }.joined(separator: "\n")
    }

    private var verdicts: String {
        let failed = report.verdicts.filter { $0.outcome != .passed }
        guard !report.verdicts.isEmpty else { return "" }
        guard !failed.isEmpty else {
            let names = report.verdicts.map(\.strategy).uniqued()
            let checks = report.verdicts.map(\.check.rawValue).uniqued().joined(separator: ", ")
            return style.paragraph(
                "All \(report.verdicts.count) checks passed (\(checks); \(names.count) strategies)."
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
}
