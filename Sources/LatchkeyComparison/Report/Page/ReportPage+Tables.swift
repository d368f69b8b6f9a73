extension ReportPage {
    /// The table behind the plots of a workload: all its cases and baselines.
    func table(_ workload: ComparisonReport.Workload) -> String {
        let entries = (report.cases + report.baselines).filter { $0.workload == workload }
        let counts = entries.map(\.threads).uniqued().sorted()
        let columns = Self.columns(workload).filter { column in
            entries.contains { column.value($0.summary) != nil }
        }
        let unit = workload.threadMode == nil ? "Threads" : "Connections"
        let heads = ["Strategy", unit] + columns.map(\.heading)
        var rows: [String] = []
        for count in counts {
            let group = ordered(entries.filter { $0.threads == count })
            for (index, entry) in group.enumerated() {
                let cells = columns.map { column in
                    "<td>\(column.value(entry.summary).map(Markup.escape) ?? "–")</td>"
                }
                rows.append(
                    "<tr\(rowClass(entry, isFirst: index == 0))><th scope=\"row\">"
                        + "\(Markup.escape(entry.strategy))\(entry.waitsForItself ? " *" : "")</th>"
                        + "<td>\(count)</td>"
                        + cells.joined() + "</tr>\n"
                )
            }
        }
        let caption =
            "All figures. ★ is ahead, or cannot be told from what is. Durations are "
            + "medians over the repeats, and a maximum is the greatest of all; slanted rows are "
            + "baselines and are not ranked."
        let note =
            entries.contains(where: \.waitsForItself) ? " " + Case.waitsForItselfNote : ""
        return Self.wide(caption + note, label: "All figures", heads, rows.joined())
    }

    private func rowClass(_ entry: Case, isFirst: Bool) -> String {
        var names: [String] = []
        let situation = Ranking.Situation(threads: entry.threads, workload: entry.workload)
        let leaders = Ranking.leaders(ranking.standings[situation] ?? [])
        if ComparisonReport.isBaseline(entry.strategy) {
            names.append("base")
        } else if report.conditions.ranking != .refused,
            leaders.contains(where: { $0.strategy == entry.strategy })
        {
            names.append("best")
        }
        if isFirst { names.append("first") }
        return names.isEmpty ? "" : " class=\"\(names.joined(separator: " "))\""
    }

    /// A table that can be moved sideways on a narrow screen, also with the keyboard.
    static func wide(
        _ caption: String,
        label: String,
        _ heads: [String],
        _ rows: String
    ) -> String {
        let cells = heads.map { "<th scope=\"col\">\(Markup.escape($0))</th>" }.joined()
        return """
            <p class="soft">\(Markup.sentence(caption))</p>
            <div class="wide" role="region" tabindex="0" aria-label="\(Markup.escape(label))">
            <table><caption class="hidden">\(Markup.escape(label))</caption>
            <thead><tr>\(cells)</tr></thead>
            <tbody>
            \(rows)</tbody></table></div>

            """
    }

    private struct Column {
        var heading: String
        var value: (Summary) -> String?
    }

    private static func columns(_ workload: ComparisonReport.Workload) -> [Column] {
        let isOpen = workload.arrival != .closed
        func time(_ value: Double?) -> String? { value.map(FigureText.duration) }
        func bucketed(_ value: Double?) -> String? { value.map(FigureText.quantile) }
        func count(_ value: Double?) -> String? { value.map(FigureText.count) }
        return [
            Column(heading: "Operations/s") { count($0.operationsPerSecond.median) },
            Column(heading: "95 % interval") {
                let spread = $0.operationsPerSecond
                return count(spread.intervalLow).map { low in
                    low + "–" + FigureText.count(spread.intervalHigh)
                }
            },
            Column(heading: "Two modes") {
                $0.isBistable
                    ? $0.modesOperationsPerSecond?.map(FigureText.count).joined(separator: " / ")
                        ?? "yes" : nil
            },
            Column(heading: "Time/op") { time($0.nanosecondsPerOperation) },
            Column(heading: "× alone") {
                isOpen
                    ? nil
                    : $0.costAgainstUnsynchronized.map { FigureText.fixed($0, $0 < 9.95 ? 1 : 0) }
            },
            Column(heading: "p50 from due") { time($0.responseFromIntendedStart?.p50Nanoseconds) },
            Column(heading: "p99 from due") { time($0.responseFromIntendedStart?.p99Nanoseconds) },
            Column(heading: "max from due") { time($0.responseFromIntendedStart?.maxNanoseconds) },
            Column(heading: "Response p50") { time($0.response?.p50Nanoseconds) },
            Column(heading: "Response p99") { time($0.response?.p99Nanoseconds) },
            Column(heading: "Response max") { time($0.response?.maxNanoseconds) },
            Column(heading: "Wait p50") { bucketed($0.wait?.p50Nanoseconds) },
            Column(heading: "Wait p90") { bucketed($0.wait?.p90Nanoseconds) },
            Column(heading: "Wait p99") { bucketed($0.wait?.p99Nanoseconds) },
            Column(heading: "Wait p99.9") { bucketed($0.wait?.p999Nanoseconds) },
            Column(heading: "Wait max") { time($0.wait?.maxNanoseconds) },
            Column(heading: "Hold p50") { bucketed($0.hold?.p50Nanoseconds) },
            Column(heading: "Hold p99") { bucketed($0.hold?.p99Nanoseconds) },
            Column(heading: "Contended") { $0.contendedRatio.map(FigureText.percent) },
            Column(heading: "Hand-offs/s") { count($0.handOffsPerSecond) },
            Column(heading: "CPU/op") {
                time($0.cpuSecondsPerMillionOperations.map { $0 * 1_000 })
            },
            Column(heading: "Voluntary switches/s") { count($0.voluntarySwitchesPerSecond) },
            Column(heading: "Involuntary switches/s") { count($0.involuntarySwitchesPerSecond) },
            Column(heading: "Futex calls/op") {
                $0.futexCallsPerOperation.map { FigureText.fixed($0, 3) }
            },
            Column(heading: "Jain") { $0.jainIndex.map { FigureText.fixed($0, 2) } },
        ]
    }
}
