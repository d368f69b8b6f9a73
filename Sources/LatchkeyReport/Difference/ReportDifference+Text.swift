internal import LatchkeyComparison

extension ReportDifference {
    private static let rowCountMax = 40

    /// What is to be said on a terminal: the differences found, worst first, and what they rest on.
    package func text(style: TerminalStyle) -> String {
        let found = rows.filter { $0.verdict != .same }.sorted { one, other in
            (one.verdict == .worse ? 0 : 1, -abs(one.change))
                < (other.verdict == .worse ? 0 : 1, -abs(other.change))
        }
        var text = newFailures.map { style.paragraph("! " + $0, .bad) }.joined()
        if !found.isEmpty {
            text += table(Array(found.prefix(Self.rowCountMax))).text(style: style)
            if found.count > Self.rowCountMax {
                text += "and \(found.count - Self.rowCountMax) more\n"
            }
            text += "\n"
        }
        text += notes.map { style.paragraph($0) }.joined()
        text += style.paragraph(summary, isWorse ? .bad : .good)
        return text
    }

    private func table(_ rows: [Row]) -> TextTable {
        var table = TextTable(headings: [
            "strategy", "where", "figure", "before", "after", "change", "",
        ])
        table.rows = rows.map { row in
            let emphasis: TextTable.Emphasis = row.verdict == .worse ? .bad : .good
            return [
                TextTable.Cell(row.strategy),
                TextTable.Cell(row.place),
                TextTable.Cell(row.figure.rawValue),
                TextTable.Cell(row.before.map(row.figure.text) ?? ""),
                TextTable.Cell(row.after.map(row.figure.text) ?? ""),
                TextTable.Cell(FigureText.change(row.change), emphasis),
                TextTable.Cell(row.verdict.rawValue, emphasis),
            ]
        }
        return table
    }

    private var summary: String {
        let worse = rows.count { $0.verdict == .worse } + newFailures.count
        let better = rows.count { $0.verdict == .better }
        let power =
            "A \(detectableFigure.isBetterHigher ? "loss" : "rise") of "
            + "\(FigureText.percent(detectableShare)) in \(detectableFigure.rawValue) would have "
            + "been found\(caseCount == 1 ? "" : " in half of the \(caseCount) cases")."
        if worse == 0, better == 0 {
            return "No difference found beyond the noise. " + power
        }
        let figures = FigureText.counted(rows.count, "figure")
        return "\(worse) worse, \(better) better, of \(figures). " + power
    }
}
