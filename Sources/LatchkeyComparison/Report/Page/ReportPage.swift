internal import Foundation
internal import LatchkeySync

/// The report as one page of HTML: no script, nothing from the network, drawings inside.
///
/// The page has a bound on its size. A run of many workloads shows as many of them as fit, and the
/// page says how many are left to the JSON and CSV files.
package struct ReportPage {
    package static let byteCountMax = 500_000
    /// What the parts other than workloads may take together.
    private static let reservedByteCount = 120_000

    let report: ComparisonReport
    let ranking: Ranking
    let marks: [String: Mark]

    package init(_ report: ComparisonReport) {
        self.report = report
        ranking = Ranking(report)
        let names = StrategyOrder.names(report)
        marks = Dictionary(
            uniqueKeysWithValues: names.enumerated().map { ($1, Mark(index: $0)) }
        )
    }

    package var html: [UInt8] {
        let text = """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width,initial-scale=1">
            <meta http-equiv="Content-Security-Policy" \
            content="default-src 'none';style-src 'unsafe-inline';img-src data:">
            <link rel="icon" href="data:,">
            <title>latchkey compare: \(Markup.escape(headline))</title>
            <style>\(PageStyle.css)</style>
            </head>
            <body>
            <header>
            <h1>What each way to synchronize costs</h1>
            <p class="soft">\(Markup.escape(subtitle))</p>
            </header>
            <main>
            \(warnings)\(answer)\(workloads)\(findings)\(details)</main>
            <footer><p>Made by latchkey \(Markup.escape(report.fingerprint.latchkeyVersion)). \
            The page has no script and loads nothing; it can be kept and sent as it is.</p></footer>
            </body>
            </html>

            """
        return Array(text.utf8)
    }

    private var headline: String {
        report.recommendation.map(\.strategies).map {
            $0.isEmpty ? "no ranking" : $0.joined(separator: ", ")
        } ?? "figures"
    }

    private var subtitle: String {
        let print = report.fingerprint
        return [
            report.startedAt.formatted(.iso8601.year().month().day()),
            print.processorModel, FigureText.counted(print.processorsOnline, "processor"),
            print.kernel.map { "Linux \($0)" },
            "Swift \(print.swiftVersionAtLeast) or later, \(print.configuration) build",
        ].compactMap(\.self).joined(separator: " · ")
    }

    // MARK: The answer

    private var answer: String {
        guard let recommendation = report.recommendation else { return "" }
        let rest = [recommendation.flip].filter { !$0.isEmpty } + recommendation.notes
        let tag = recommendation.outcome == .refused ? "warning" : "answer"
        return """
            <section class="\(tag)" aria-label="Recommendation">
            <strong>\(Markup.sentence(recommendation.sentence))</strong>
            \(rest.map { "<p>\(Markup.sentence($0))</p>" }.joined(separator: "\n"))
            </section>

            """
    }

    private var warnings: String {
        var lines: [String] = []
        if report.isInterrupted {
            lines.append("The run was interrupted. The figures are those of what was finished.")
        }
        if report.recommendation?.outcome != .refused {
            lines += report.conditions.findings
        }
        lines += report.verdicts.filter { $0.outcome != .passed }.map { verdict in
            "`\(verdict.strategy)`: the check '\(verdict.check.rawValue)' "
                + "\(verdict.outcome.rawValue). \(verdict.finding ?? "")"
        }
        guard !lines.isEmpty else { return "" }
        let items = lines.map { "<li>\(Markup.sentence($0))</li>" }.joined(separator: "\n")
        return """
            <section class="warning" aria-label="Warnings">
            <b>Read this first</b>
            <ul>\(items)</ul>
            </section>

            """
    }

    // MARK: The figures

    private var workloads: String {
        let workloads = report.cases.map(\.workload).uniqued()
        var text = sweeps
        for (index, workload) in workloads.enumerated() {
            let part = section(workload, number: index + 1, of: workloads.count)
            let size = text.utf8.count + part.utf8.count
            guard size <= Self.byteCountMax - Self.reservedByteCount else {
                let left = workloads.count - index
                return text + "<p><b>\(FigureText.counted(left, "more workload")) "
                    + "\(left == 1 ? "is" : "are") not on this page</b>, "
                    + "which has a bound on its size. The JSON and CSV files have all.</p>\n"
            }
            text += part
        }
        return text
    }

    private func section(
        _ workload: ComparisonReport.Workload,
        number: Int,
        of count: Int
    ) -> String {
        let name = WorkloadText.description(workload)
        let title =
            count > 1
            ? "Workload \(number): \(name)" : name.prefix(1).uppercased() + name.dropFirst()
        return """
            <section aria-labelledby="w\(number)">
            <h2 id="w\(number)">\(Markup.escape(title))</h2>
            <div class="plots">
            \(plots(workload, id: "w\(number)"))</div>
            \(table(workload))</section>

            """
    }
}

/// The order in which strategies stand everywhere in a report: the best first, then what is not
/// ranked, then the baselines.
///
/// Where ranking is refused, the order they were named in.
enum StrategyOrder {
    static func names(_ report: ComparisonReport) -> [String] {
        let isRanked = report.conditions.ranking != .refused
        let ranked = isRanked ? Ranking(report).overall.map(\.strategy) : []
        let named = report.settings.strategies.map(\.rawValue)
        return (ranked + named + report.baselines.map(\.strategy)).uniqued()
    }
}
