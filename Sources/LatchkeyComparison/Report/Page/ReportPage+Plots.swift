extension ReportPage {
    typealias Case = ComparisonReport.Case
    typealias Summary = ComparisonReport.Summary

    /// The plots of one workload.
    func plots(_ workload: ComparisonReport.Workload, id: String) -> String {
        let entries = (report.cases + report.baselines).filter { $0.workload == workload }
        let counts = report.cases.filter { $0.workload == workload }.map(\.threads).uniqued()
            .sorted()
        let unit = workload.threadMode == nil ? "threads" : "connections"
        let greatest = counts.last ?? 1
        let last = ordered(entries.filter { $0.threads == greatest })
        let place = WorkloadText.threads(greatest, workload)
        let figure = RankedFigure(workload)
        let throughput =
            counts.count > 1
            ? lines(entries, figure, id: id + "p1", xName: unit) { Double($0.threads) }
            : figure == .throughput ? throughputRows(last, id: id + "p1", place: place) : ""
        return [
            throughput,
            durations(
                last,
                id: id + "p6",
                "Response from when it was due",
                "What somebody who asked in time sees",
                place,
                \.responseFromIntendedStart
            ),
            durations(
                last,
                id: id + "p5",
                "Response time",
                figure == .throughput
                    ? "What the client saw" : "From when an operation began, which hides stalls",
                place,
                \.response
            ),
            durations(
                last,
                id: id + "p2",
                "Wait",
                last.contains(where: \.waitsForItself)
                    ? "From asking to entering; asynchronous strategies wait behind themselves, too"
                    : "From asking to entering",
                place,
                text: {
                    $0 == "max"
                        ? FigureText.duration(nanoseconds: $1)
                        : FigureText.quantile(nanoseconds: $1)
                },
                \.wait
            ),
            cpu(last, id: id + "p3", place: place),
            last.contains { $0.summary.jainIndex != nil }
                ? fairness(last, id: id + "p4", place: place) : "",
        ].joined()
    }

    /// Throughput against the read ratio, where a run varied it.
    var sweeps: String {
        guard report.cases.map(\.workload.readRatio).uniqued().count > 1 else { return "" }
        func withoutReads(_ workload: ComparisonReport.Workload) -> ComparisonReport.Workload {
            var workload = workload
            workload.readRatio = 0
            return workload
        }
        let first = report.cases.first.map { withoutReads($0.workload) }
        let greatest = report.cases.map(\.threads).max() ?? 1
        let entries = (report.cases + report.baselines).filter {
            withoutReads($0.workload) == first && $0.threads == greatest
        }
        guard let workload = entries.first?.workload else { return "" }
        let place = WorkloadText.threads(greatest, workload)
        let plot = lines(
            entries,
            RankedFigure(workload),
            id: "sweep",
            xName: "share of reads in % (\(place))"
        ) { $0.workload.readRatio * 100 }
        return """
            <section aria-labelledby="sweeps"><h2 id="sweeps">Reads against writes</h2>
            <div class="plots">
            \(plot)</div></section>

            """
    }

    // MARK: Kinds of plots

    private func lines(
        _ entries: [Case],
        _ figure: RankedFigure,
        id: String,
        xName: String,
        x: (Case) -> Double
    ) -> String {
        let leading = leadingNames
        let names = entries.filter { figure.spread($0) != nil }.map(\.strategy).uniqued()
        let series = StrategyOrder.names(report).filter(names.contains).map { name in
            let points = entries.filter { $0.strategy == name }.compactMap { entry in
                figure.spread(entry).map { spread in
                    LinePlot.Point(
                        x: x(entry),
                        y: spread.median,
                        low: spread.intervalLow,
                        high: spread.intervalHigh,
                        title: "\(name), \(WorkloadText.threads(entry.threads, entry.workload)): "
                            + "\(figure.text(spread.median)) \(figure.unit) "
                            + "(\(figure.text(spread.intervalLow)) to "
                            + "\(figure.text(spread.intervalHigh)))"
                    )
                }
            }
            return LinePlot.Series(
                name: name,
                mark: mark(name),
                points: points,
                isLeading: leading.contains(name)
            )
        }
        let plot = LinePlot(
            id: id,
            title: "\(figure.title) against \(xName)",
            description: "A line for each strategy. "
                + series.prefix(3).map {
                    "\($0.name): " + $0.points.map(\.title).joined(separator: "; ")
                }
                .joined(separator: ". ") + ". The table has all figures.",
            xName: xName,
            yName: figure.unit,
            yText: figure.text,
            series: series
        )
        let direction = figure == .throughput ? "More" : "Less"
        return self.figure(
            figure.title,
            "The median; bars are 95 % intervals. \(direction) is better.",
            plot.svg
        )
    }

    private func throughputRows(_ entries: [Case], id: String, place: String) -> String {
        figure(
            "Throughput \(place)",
            "Least, median and most of the repeats. More is better.",
            rows(
                entries,
                id: id,
                title: "Throughput \(place)",
                xName: "operations per second",
                xText: FigureText.count,
                kinds: ["least", "median", "most"]
            ) { summary in
                let spread = summary.operationsPerSecond
                return [spread.min, spread.median, spread.max]
            }
        )
    }

    /// Quantiles of a kind of durations, if there are any.
    private func durations(
        _ entries: [Case],
        id: String,
        _ name: String,
        _ meaning: String,
        _ place: String,
        text: @escaping (_ kind: String, Double) -> String = {
            FigureText.duration(nanoseconds: $1)
        },
        _ durations: (Summary) -> ComparisonReport.Durations?
    ) -> String {
        guard entries.contains(where: { durations($0.summary) != nil }) else { return "" }
        return figure(
            "\(name) \(place)",
            "\(meaning). Less is better.",
            rows(
                entries,
                id: id,
                title: "\(name) quantiles \(place)",
                xName: name.lowercased(),
                xText: FigureText.duration,
                valueText: text,
                kinds: ["p50", "p90", "p99", "max"]
            ) { summary in
                let found = durations(summary)
                return [
                    found?.p50Nanoseconds, found?.p90Nanoseconds, found?.p99Nanoseconds,
                    found?.maxNanoseconds,
                ]
            }
        )
    }

    private func cpu(_ entries: [Case], id: String, place: String) -> String {
        figure(
            "Processor time \(place)",
            "Of all threads, for one operation. Less is better.",
            rows(
                entries,
                id: id,
                title: "Processor time per operation \(place)",
                xName: "processor time per operation",
                xText: FigureText.duration,
                kinds: ["processor time"]
            ) { [$0.cpuSecondsPerMillionOperations.map { $0 * 1_000 }] }
        )
    }

    private func fairness(_ entries: [Case], id: String, place: String) -> String {
        figure(
            "Fairness \(place)",
            "Jain's index: 1 if all threads completed as many operations. More is better.",
            rows(
                entries,
                id: id,
                title: "Jain's index \(place)",
                xName: "Jain's index",
                xText: { FigureText.fixed($0, 2) },
                kinds: ["Jain's index"],
                isShare: true
            ) { [$0.jainIndex] }
        )
    }

    // MARK: Parts

    private func rows(
        _ entries: [Case],
        id: String,
        title: String,
        xName: String,
        xText: @escaping (Double) -> String,
        valueText: ((_ kind: String, Double) -> String)? = nil,
        kinds: [String],
        isShare: Bool = false,
        values: (Summary) -> [Double?]
    ) -> String {
        let rows = entries.map { entry in
            RowPlot.Row(
                name: entry.strategy,
                mark: mark(entry.strategy),
                values: values(entry.summary),
                isLeading: leadingNames.contains(entry.strategy)
            )
        }
        return RowPlot(
            id: id,
            title: title,
            description: "A row for each strategy: \(kinds.joined(separator: ", ")). "
                + "The table has all figures.",
            xName: xName,
            xText: xText,
            valueText: valueText ?? { xText($1) },
            kinds: kinds,
            rows: rows,
            isShare: isShare
        ).svg
    }

    private func figure(_ title: String, _ caption: String, _ svg: String) -> String {
        "<figure><figcaption><b>\(Markup.escape(title))</b>\(Markup.escape(caption))</figcaption>"
            + "\n\(svg)</figure>\n"
    }

    var leadingNames: [String] { report.recommendation?.strategies ?? [] }

    private func mark(_ name: String) -> Mark { marks[name] ?? Mark(index: 0) }

    func ordered(_ entries: [Case]) -> [Case] {
        StrategyOrder.names(report).flatMap { name in entries.filter { $0.strategy == name } }
    }
}
