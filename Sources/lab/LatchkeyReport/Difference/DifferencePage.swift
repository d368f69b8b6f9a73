internal import LatchkeyComparison

extension ReportDifference {
    private static let pageRowCountMax = 1_000

    /// The differences as a part of a page, which needs no script.
    var section: String {
        let table = table(Self.pageRowCountMax)
        let left = found.count - Self.pageRowCountMax
        let heads = table.headings.map { "<th scope=\"col\">\(Self.escaped($0))</th>" }.joined()
        let rows = table.rows.map { cells in
            "<tr>"
                + cells.map { cell in
                    let kind = cell.emphasis == .bad ? " class=\"bad\"" : ""
                    return "<td\(kind)>\(Self.escaped(cell.text))</td>"
                }.joined() + "</tr>\n"
        }.joined()
        return "<h2>What changed</h2>\n<p class=\"soft\">\(Self.escaped(heading))</p>\n"
            + newFailures.map { "<p class=\"warning\">\(Self.escaped($0))</p>\n" }.joined()
            + "<p class=\"\(isWorse ? "warning" : "answer")\">\(Self.escaped(summary))</p>\n"
            + (rows.isEmpty
                ? ""
                : "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"Differences\">"
                    + "<table><thead><tr>\(heads)</tr></thead>\n<tbody>\n\(rows)</tbody></table>"
                    + "</div>\n") + (left > 0 ? "<p>and \(left) more</p>\n" : "")
            + "<ul>" + notes.map { "<li>\(Self.escaped($0))</li>\n" }.joined() + "</ul>\n"
    }

    /// Nothing in a report is markup, or a place of the page that is filled.
    private static func escaped(_ text: String) -> String {
        TerminalStyle.withoutControls(text)
            .replacing("&", with: "&amp;").replacing("<", with: "&lt;")
            .replacing(">", with: "&gt;").replacing("\"", with: "&quot;")
            .replacing("{", with: "&#123;")
    }
}
