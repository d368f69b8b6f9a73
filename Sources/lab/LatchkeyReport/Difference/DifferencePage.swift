internal import LatchkeyComparison

extension ReportDifference {
    private static let pageRowCountMax = 1_000

    /// The differences as one page of HTML, without a script.
    package var html: String {
        let table = table(Self.pageRowCountMax)
        let left = found.count - Self.pageRowCountMax
        let heads = table.headings.map { "<th scope=\"col\">\(Self.escaped($0))</th>" }.joined()
        let rows = zip(found, table.rows).map { row, cells in
            let kind = row.verdict == .worse ? "worse" : "better"
            return "<tr class=\"\(kind)\">"
                + cells.map { "<td>\(Self.escaped($0.text))</td>" }.joined() + "</tr>\n"
        }.joined()
        return Self.head + "<h1>What changed</h1>\n<p class=\"soft\">\(Self.escaped(heading))</p>\n"
            + newFailures.map { "<p class=\"failure\">\(Self.escaped($0))</p>\n" }.joined()
            + "<p class=\"\(isWorse ? "failure" : "answer")\">\(Self.escaped(summary))</p>\n"
            + (rows.isEmpty
                ? ""
                : "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"Differences\">"
                    + "<table><thead><tr>\(heads)</tr></thead>\n<tbody>\n\(rows)</tbody></table>"
                    + "</div>\n") + (left > 0 ? "<p>and \(left) more</p>\n" : "")
            + "<ul>" + notes.map { "<li>\(Self.escaped($0))</li>\n" }.joined()
            + "</ul>\n</main>\n</body>\n</html>\n"
    }

    /// Nothing in a report is markup.
    private static func escaped(_ text: String) -> String {
        TerminalStyle.withoutControls(text)
            .replacing("&", with: "&amp;").replacing("<", with: "&lt;")
            .replacing(">", with: "&gt;").replacing("\"", with: "&quot;")
    }

    private static let head = """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width,initial-scale=1">
        <meta http-equiv="Content-Security-Policy"
        content="default-src 'none';style-src 'unsafe-inline';img-src data:">
        <link rel="icon" href="data:,">
        <title>latchkey compare: what changed</title>
        <style>
        :root{color-scheme:light dark;--rule:#d5dae0;--soft:#555d66;--good:#00664d;--bad:#a3150b}
        @media screen and (prefers-color-scheme:dark){:root{--rule:#3a4249;--soft:#a9b2bb;
          --good:#5fd3a8;--bad:#ff9d92}}
        body{margin:0;font:16px/1.5 system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
        main{max-width:75rem;margin:0 auto;padding:1rem}
        h1{font-size:1.5rem;margin:0}
        .soft{color:var(--soft)}
        .answer,.failure{border-left:.35rem solid var(--good);padding:.4rem .8rem;font-weight:600}
        .failure{border-color:var(--bad)}
        .wide{overflow-x:auto}
        table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}
        th,td{padding:.22rem .6rem;text-align:left;border-top:1px solid var(--rule)}
        .worse td:nth-last-child(-n+2){color:var(--bad);font-weight:600}
        .better td:nth-last-child(-n+2){color:var(--good)}
        @media print{.wide{overflow:visible}tr{break-inside:avoid}}
        </style>
        </head>
        <body>
        <main>

        """
}
