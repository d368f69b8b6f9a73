internal import LatchkeyComparison

/// What an operation of a workload of one's own takes from the heap.
enum HeapText {
    /// A table with a line for each strategy whose allocations were counted; else nothing.
    static func text(
        _ entries: [ComparisonReport.Case],
        in order: [String],
        style: TerminalStyle
    ) -> String {
        var table = TextTable(
            headings: ["per operation", "objects allocated", "retains", "releases"]
        )
        for strategy in order {
            let counted = entries.first { $0.strategy == strategy && $0.heap != nil }
            guard let heap = counted?.heap else { continue }
            let figures = [
                heap.allocationsPerOperation, heap.retainsPerOperation, heap.releasesPerOperation,
            ]
            let emphasis: TextTable.Emphasis =
                ComparisonReport.isBaseline(strategy) ? .faint : .none
            table.rows.append(
                [TextTable.Cell(strategy, emphasis)]
                    + figures.map { TextTable.Cell(FigureText.fixed($0, 2), emphasis) }
            )
        }
        guard !table.rows.isEmpty else { return "" }
        return "\n" + table.text(style: style)
            + style.paragraph(
                "Of the Swift runtime on one thread; other memory, such as that of Dispatch, is not "
                    + "in it."
            )
    }
}
