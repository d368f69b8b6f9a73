internal import Foundation
package import LatchkeyComparison
internal import LatchkeyVerdict

/// The report as Markdown for an issue or a pull request: fewer than 40 lines, with the machine.
///
/// The verdict comes first, then one table of the first workload, then the facts needed to repeat
/// the run. Lines that do not fit are counted.
package struct MarkdownReport {
    /// Lines of the table, without its head.
    private static let rowCountMax = 17
    private static let bulletCountMax = 7

    private let report: ComparisonReport
    private let ranking: Ranking

    package init(_ report: ComparisonReport) {
        self.report = report
        ranking = Ranking(report)
    }

    package var text: String {
        (verdict + table + footer).joined(separator: "\n") + "\n"
    }

    private var verdict: [String] {
        let found = report.recommendation
        let failed = report.verdicts.filter { $0.outcome == .failed }.compactMap(\.finding)
        let conditions = ranking.isRefused ? [] : report.conditions.disturbances
        let lines = found?.lines.map(Markdown.strong) ?? []
        return lines.flatMap { [$0, ""] }
            + Markdown.list(
                failed + (found?.rest ?? []) + conditions,
                countMax: Self.bulletCountMax - lines.count
            )
    }

    private var table: [String] {
        let workloads = report.cases.map(\.workload).uniqued()
        guard let workload = workloads.first else { return [] }
        let cases = WorkloadTable(report, ranking, workload)
        let threads = cases.threads
        let wanted = ["of best", "interval", "wait p99", "cpu/op", "Jain"]
        let columns = TerminalColumn.all(isOpen: workload.arrival != .closed, ranking).filter {
            wanted.contains($0.heading)
        }
        let rows = cases.rows.map { strategy, cases in
            let last = cases.last ?? nil
            return [Markdown.escaped(strategy) + (last?.waitsForItself == true ? " \\*" : "")]
                + cases.map(figure)
                + columns.map { column in Markdown.escaped(last.flatMap(column.text) ?? "–") }
        }
        let left = rows.count - Self.rowCountMax
        let unit = WorkloadText.threadNoun(workload)
        let name = ranking.figure == .throughput ? "Operations per second" : "p99 of the response"
        let title =
            "\(name) by \(unit)s; other columns: "
            + "\(WorkloadText.countedThreads(threads.last ?? 1, workload)). "
            + "Workload: \(WorkloadText.description(workload)). "
            + "Bold: no other is surely better by 10 %; ~ two modes; ! one slow repeat."
            + (workloads.count > 1
                ? " \(FigureText.counted(workloads.count - 1, "more workload")) in the JSON." : "")
        return [Markdown.escaped(title), ""]
            + Markdown.table(
                ["strategy"] + threads.map(String.init) + columns.map(\.heading),
                Array(rows.prefix(Self.rowCountMax))
            )
            + (left > 0 ? ["", "and \(FigureText.counted(left, "more row")) in the JSON."] : [])
            + [""]
    }

    private func figure(_ entry: ComparisonReport.Case?) -> String {
        guard let entry, let spread = ranking.figure.spread(entry) else { return "–" }
        let text = ranking.figure.marks(entry) + ranking.figure.text(spread.median)
        return ranking.isBest(entry) ? Markdown.strong(text) : Markdown.escaped(text)
    }

    private var footer: [String] {
        [
            Markdown.escaped(
                "\(report.day), latchkey \(report.fingerprint.latchkeyVersion), "
                    + "\(report.machine)."
            ),
            "",
            Markdown.code(report.settings.commandLine),
        ]
    }
}
