internal import LatchkeyComparison
internal import LatchkeyVerdict

// The differences for a terminal, as Markdown and as a part of a page: the same sentences and rows.

extension ReportDifference {
    /// The differences found, the worst first.
    var found: [Row] {
        [Change.worse, .better].flatMap { verdict in
            rows.filter { $0.verdict == verdict }.sorted { abs($0.change) > abs($1.change) }
        }
    }

    /// The first `countMax` of them, and how many are left.
    private func table(_ countMax: Int) -> (table: TextTable, left: [String]) {
        let left = found.count - countMax
        let table = TextTable(
            headings: ["strategy", "where", "figure", "before", "after", "change", ""],
            rows: found.prefix(countMax).map(\.cells)
        )
        return (table, left > 0 ? ["and \(left) more"] : [])
    }

    /// The text for a terminal: the differences found and their conditions.
    package func text(style: TerminalStyle) -> String {
        func paragraphs(_ texts: [String], _ emphasis: TextTable.Emphasis = .none) -> String {
            texts.map { style.paragraph($0, emphasis) }.joined()
        }
        let (table, left) = table(40)
        return paragraphs(newFailures.map { "! " + $0 }, .bad)
            + (found.isEmpty ? "" : table.text(style: style) + paragraphs(left) + "\n")
            + paragraphs(notes) + paragraphs([summary], isWorse ? .bad : .good)
    }

    /// The differences as Markdown: fewer than 40 lines.
    package var markdown: String {
        let (table, left) = table(18)
        let rows = table.rows.map { $0.map { Markdown.escaped($0.text) } }
        let lines =
            ["### latchkey compare: what changed", "", Markdown.strong(summary), ""]
            + Markdown.list(newFailures + notes, countMax: 8)
            + (rows.isEmpty ? [] : Markdown.table(table.headings, rows) + [""])
            + left.flatMap { [$0, ""] } + [Markdown.escaped(heading)]
        return lines.joined(separator: "\n") + "\n"
    }

    /// The differences as a part of a page, which needs no script.
    var section: String {
        /// Nothing in a report is markup, or a place of the page that is filled.
        func element(_ start: String, _ text: String) -> String {
            let escaped = TerminalStyle.withoutControls(text)
                .replacing("&", with: "&amp;").replacing("<", with: "&lt;")
                .replacing(">", with: "&gt;").replacing("\"", with: "&quot;")
                .replacing("{", with: "&#123;")
            return "<\(start)>\(escaped)</\(start.prefix { $0 != " " })>"
        }
        let (table, left) = table(1_000)
        let heads = table.headings.map { element("th scope=\"col\"", $0) }.joined()
        let rows = table.rows.map { cells in
            cells.map { element($0.emphasis == .bad ? "td class=\"bad\"" : "td", $0.text) }.joined()
        }
        let wide = "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"Differences\">"
        let lines =
            ["<h2>What changed</h2>", element("p class=\"soft\"", heading)]
            + newFailures.map { element("p class=\"warning\"", $0) }
            + [element("p class=\"\(isWorse ? "warning" : "answer")\"", summary)]
            + (rows.isEmpty
                ? []
                : [wide + "<table><thead><tr>\(heads)</tr></thead>"] + rows.map { "<tr>\($0)</tr>" }
                    + ["</table></div>"])
            + left.map { element("p", $0) } + ["<ul>"] + notes.map { element("li", $0) } + ["</ul>"]
        return lines.joined(separator: "\n") + "\n"
    }
}
