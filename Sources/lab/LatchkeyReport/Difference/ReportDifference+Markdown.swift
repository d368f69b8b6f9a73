extension ReportDifference {
    private static let markdownRowCountMax = 18
    private static let markdownBulletCountMax = 8

    /// The differences as Markdown: fewer than 40 lines.
    package var markdown: String {
        let left = found.count - Self.markdownRowCountMax
        let table = table(Self.markdownRowCountMax)
        let rows = table.rows.map { $0.map { Markdown.escaped($0.text) } }
        let lines =
            ["### latchkey compare: what changed", "", Markdown.strong(summary), ""]
            + Markdown.list(newFailures + notes, countMax: Self.markdownBulletCountMax)
            + (rows.isEmpty ? [] : Markdown.table(table.headings, rows) + [""])
            + (left > 0 ? ["and \(left) more", ""] : []) + [Markdown.escaped(heading)]
        return lines.joined(separator: "\n") + "\n"
    }
}
