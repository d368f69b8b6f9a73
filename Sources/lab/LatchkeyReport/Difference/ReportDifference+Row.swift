internal import Foundation
internal import LatchkeyComparison
internal import LatchkeyVerdict

extension ReportDifference {
    /// The compared figures, in the order of the report.
    enum Figure: String, Sendable, CaseIterable {
        case throughput
        case responseP99 = "response p99"
        case processorTime = "processor time"
        case waitP99 = "wait p99"
        case holdMean = "mean hold"
    }

    /// One figure of one case, or of several cases together, in both reports.
    struct Row {
        var strategy: String
        /// Where: threads and workload, or all cases.
        var place: String
        var figure: Figure
        /// Whether one thread alone decides the figure, which then varies much less than with
        /// several threads or a pool of them.
        var isOneThread: Bool
        /// The logarithms of the repeats or runs for each case, by what they have in common.
        var before: [[Int: Double]]
        var after: [[Int: Double]]
        /// The difference that matters, as a factor.
        var leastRatio: Double
        /// The ratio that other processes can explain, by the time that they took from one side
        /// only.
        var loadRatio = 1.0
        /// After over before; its interval is not that of one row, but holds for all rows at once.
        var ratio = Ratio(value: 1, low: 0, high: .infinity)

        var isPooled: Bool { after.count > 1 }
        /// Rows of the same family vary about as much.
        var family: [String] { [figure.rawValue, "\(isOneThread)", "\(isPooled)"] }
        /// After over before, minus 1.
        var change: Double { ratio.value - 1 }
        /// The least ratio that would have been found.
        var detectable: Double { max(ratio.high / ratio.value, leastRatio) }

        var verdict: Change {
            let isFound = ratio.low > 1 || ratio.high < 1
            guard isFound, max(ratio.value, 1 / ratio.value) >= leastRatio else { return .same }
            return (ratio.value > 1) == (figure == .throughput) ? .better : .worse
        }

        var cells: [TextTable.Cell] {
            let emphasis: TextTable.Emphasis = verdict == .worse ? .bad : .good
            let figures = [before, after].map { cases in
                isPooled ? "" : figure.text(exp(Statistics.mean(cases[0].values)))
            }
            return ([strategy, place, figure.rawValue] + figures).map { TextTable.Cell($0) } + [
                TextTable.Cell(FigureText.change(change), emphasis),
                TextTable.Cell(verdict.rawValue, emphasis),
            ]
        }
    }
}

extension ReportDifference.Row {
    /// Leaves only differences that the load of other processes cannot explain.
    ///
    /// The load hardly changes the processor time of one thread: by some percent, through caches
    /// and the processor's clock.
    mutating func widen(to ratio: Double) {
        let isSteady = isOneThread && figure == .processorTime
        loadRatio = isSteady ? min(ratio, 1.1) : ratio
        leastRatio = max(leastRatio, loadRatio)
    }

    /// The figures that all reports have of a case.
    ///
    /// If a run is one value, it is the mean of its repeats.
    static func all(
        _ pair: (before: CaseMatching.Runs, after: CaseMatching.Runs),
        ofRuns: Bool,
        namesWorkload: Bool
    ) -> [Self] {
        let entry = pair.after[0].entry
        let place =
            WorkloadText.threads(entry.threads, entry.workload)
            + (namesWorkload ? ", " + WorkloadText.description(entry.workload) : "")
        let isOneThread =
            entry.threads == 1 && entry.workload.transport == nil && !entry.waitsForItself
        return ReportDifference.Figure.allCases.compactMap { figure in
            let sides = [pair.before, pair.after].map { runs in
                var values: [Int: Double] = [:]
                for (run, measured) in runs.enumerated() {
                    let found = figure.logarithms(measured.entry, measured.duration)
                    if ofRuns {
                        values[run] = found.isEmpty ? nil : Statistics.mean(found.values)
                    } else {
                        values.merge(found.map { ($0 + run * repeatsMax, $1) }) { $1 }
                    }
                }
                return values
            }
            let counts = sides.map(\.count)
            // Runs of one side are assumed to vary like those of the other one.
            let needed = ofRuns ? counts.max() : counts.min()
            guard needed ?? 0 >= Ratio.repeatsMin, counts.min() ?? 0 > 0 else { return nil }
            return Self(
                strategy: entry.strategy,
                place: place,
                figure: figure,
                isOneThread: isOneThread,
                before: [sides[0]],
                after: [sides[1]],
                leastRatio: figure.leastRatio(isOneThread: isOneThread, ofRuns: ofRuns)
            )
        }
    }

    /// No run has as many.
    private static let repeatsMax = 1 << 20

    /// Each strategy over all its cases, everything, and everything on one thread.
    static func pooled(_ cases: [Self]) -> [Self] {
        let strategies = cases.map(\.strategy).uniqued()
        return ReportDifference.Figure.allCases.flatMap { figure in
            let all = cases.filter { $0.figure == figure }
            let alone = all.filter(\.isOneThread)
            var groups = strategies.map { name in (name, "all", all.filter { $0.strategy == name })
            }
            if strategies.count > 1 { groups.append(("all", "all", all)) }
            if alone.count < all.count { groups.append(("all", "the", alone)) }
            return groups.compactMap { strategy, article, members -> Self? in
                guard members.count > 1, var row = members.first else { return nil }
                let end = article == "the" ? " of one thread" : ""
                (row.strategy, row.place) = (strategy, "\(article) \(members.count) cases\(end)")
                row.isOneThread = members.allSatisfy(\.isOneThread)
                row.leastRatio = members.map(\.leastRatio).max() ?? row.leastRatio
                (row.before, row.after) = (members.flatMap(\.before), members.flatMap(\.after))
                return row
            }
        }
    }

    /// Gives each row the ratio that holds for all of them at once.
    ///
    /// Few repeats agree by luck now and then, so a row is assumed to vary at least as much as the
    /// median of its family.
    static func judge(_ rows: inout [Self]) {
        let errors = rows.map { Ratio.error(before: $0.before, after: $0.after) }
        for family in Dictionary(grouping: rows.indices, by: { rows[$0].family }).values {
            let sorted = family.map { errors[$0] }.sorted()
            for index in family {
                rows[index].ratio = Ratio(
                    before: rows[index].before,
                    after: rows[index].after,
                    errorMin: max(sorted[sorted.count / 2], 1e-4),
                    comparisonCount: rows.count
                )
            }
        }
    }
}

extension ReportDifference.Figure {
    /// A smaller difference is not reported, however certain.
    ///
    /// Two runs of one build differ by a few percent, because memory is laid out differently. How
    /// threads meet changes from run to run, too; where a run is the unit, its interval has that.
    /// Quantiles come from buckets that double, and the first of them is an upper bound.
    fileprivate func leastRatio(isOneThread: Bool, ofRuns: Bool) -> Double {
        switch self {
        case .throughput where ofRuns, .processorTime where ofRuns, .holdMean where ofRuns: 1
        case .throughput, .processorTime: isOneThread ? 1.06 : 1.08
        case .holdMean: 1.08
        case .responseP99: 1.5
        case .waitP99: 2
        }
    }

    fileprivate func text(_ value: Double) -> String {
        switch self {
        case .throughput: FigureText.count(value) + "/s"
        case .processorTime, .holdMean, .responseP99: FigureText.duration(nanoseconds: value)
        case .waitP99: FigureText.quantile(nanoseconds: value)
        }
    }

    /// One for each repeat that has the figure, by its index.
    ///
    /// A repeat without operations is the slowest of all and must not be lost: it has half an
    /// operation, and the planned duration instead of 0.
    fileprivate func logarithms(
        _ entry: ComparisonReport.Case,
        _ duration: Double
    ) -> [Int: Double] {
        entry.counted.reduce(into: [:]) { values, measured in
            let operations = Double(measured.operations)
            let value: Double? =
                switch self {
                case .throughput:
                    entry.workload.arrival == .closed
                        ? (operations + 0.5) / (measured.seconds > 0 ? measured.seconds : duration)
                        : nil
                case .processorTime: measured.cpuSeconds.map { $0 * 1e9 / operations }
                case .responseP99:
                    (measured.responseFromIntendedStart ?? measured.response)?.p99Nanoseconds
                case .waitP99: measured.wait?.p99Nanoseconds
                case .holdMean: measured.hold?.meanNanoseconds
                }
            if let value, value > 0, value.isFinite { values[measured.index] = log(value) }
        }
    }
}
