internal import Foundation
internal import LatchkeyComparison

extension ReportDifference {
    /// What is compared, in the order of the report.
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
        var isPooled = false
        /// The logarithms of the repeats, so that differences are ratios.
        var logarithmsBefore: [Double]
        var logarithmsAfter: [Double]
        /// The difference that matters, as a logarithm.
        var leastDifference: Double
        /// The least difference that would have been found for certain, as a logarithm.
        var detectable = 0.0
        var isFound = false

        /// Rows of the same family vary about as much, and share an error rate.
        var family: [String] { [figure.rawValue, "\(isOneThread)", "\(isPooled)"] }

        /// The logarithm of after over before.
        var difference: Double { mean(logarithmsAfter) - mean(logarithmsBefore) }
        /// After over before, minus 1.
        var change: Double { exp(difference) - 1 }
        /// Geometric means over the repeats; `nil` for several cases together.
        var before: Double? { isPooled ? nil : exp(mean(logarithmsBefore)) }
        var after: Double? { isPooled ? nil : exp(mean(logarithmsAfter)) }

        var verdict: Change {
            guard isFound else { return .same }
            return (difference > 0) == (figure == .throughput) ? .better : .worse
        }

        var cells: [TextTable.Cell] {
            let emphasis: TextTable.Emphasis = verdict == .worse ? .bad : .good
            let figures = [before, after].map { $0.map(figure.text) ?? "" }
            return ([strategy, place, figure.rawValue] + figures).map { TextTable.Cell($0) } + [
                TextTable.Cell(FigureText.change(change), emphasis),
                TextTable.Cell(verdict.rawValue, emphasis),
            ]
        }
    }
}

extension ReportDifference.Row {
    /// The row as it can be judged whatever the conditions were; `nil` if it cannot.
    ///
    /// Other processes still change it by some percent, through caches and the processor's
    /// clock.
    var underLoad: Self? {
        guard isOneThread, figure == .processorTime else { return nil }
        var row = self
        row.leastDifference = log(1.1)
        return row
    }

    /// Counts only what the noise of the busier run cannot explain.
    ///
    /// The processor time of one thread hardly depends on other processes.
    mutating func widen(to leastRatio: Double) {
        if let alone = underLoad {
            leastDifference = max(leastDifference, min(log(leastRatio), alone.leastDifference))
        } else {
            leastDifference = max(leastDifference, log(leastRatio))
        }
    }

    /// The figures that both reports have of a case.
    static func all(_ pair: CaseMatching.Pair, namesWorkload: Bool) -> [Self] {
        let (threads, workload) = (pair.after.threads, pair.after.workload)
        let place =
            WorkloadText.threads(threads, workload)
            + (namesWorkload ? ", " + WorkloadText.description(workload) : "")
        return ReportDifference.Figure.allCases.compactMap { figure in
            let before = figure.logarithms(pair.before, pair.durationBefore)
            let after = figure.logarithms(pair.after, pair.durationAfter)
            guard min(before.count, after.count) >= ReportDifference.repeatsMin else { return nil }
            return Self(
                strategy: pair.after.strategy,
                place: place,
                figure: figure,
                isOneThread: pair.isOneThread,
                logarithmsBefore: before,
                logarithmsAfter: after,
                leastDifference: figure.leastDifference(isOneThread: pair.isOneThread)
            )
        }
    }

    /// Each strategy over all its cases, everything, and everything on one thread: the mean of the
    /// cases in each round.
    static func pooled(_ cases: [Self]) -> [Self] {
        let strategies = cases.map(\.strategy).uniqued()
        return ReportDifference.Figure.allCases.flatMap { figure in
            let all = cases.filter { $0.figure == figure }
            let alone = all.filter(\.isOneThread)
            let groups =
                strategies.map { name in (name, all.filter { $0.strategy == name }) }
                + (strategies.count > 1 ? [("all", all)] : [])
            return groups.compactMap { pool($1, strategy: $0, place: "all \($1.count) cases") }
                + (alone.count < all.count
                ? [pool(alone, strategy: "all", place: "the \(alone.count) cases of one thread")]
                : []).compactMap(\.self)
        }
    }

    private static func pool(_ members: [Self], strategy: String, place: String) -> Self? {
        func meanByRound(_ cases: [[Double]]) -> [Double] {
            (0..<(cases.map(\.count).min() ?? 0)).map { round in mean(cases.map { $0[round] }) }
        }
        guard members.count > 1, var row = members.first else { return nil }
        row.strategy = strategy
        row.place = place
        row.isPooled = true
        row.isOneThread = members.allSatisfy(\.isOneThread)
        row.leastDifference = members.map(\.leastDifference).max() ?? row.leastDifference
        row.logarithmsBefore = meanByRound(members.map(\.logarithmsBefore))
        row.logarithmsAfter = meanByRound(members.map(\.logarithmsAfter))
        return row
    }
}

extension ReportDifference.Figure {
    /// A smaller difference is not reported, however certain.
    ///
    /// Two runs of one build differ by a few percent, because memory is laid out anew. How threads
    /// meet changes from run to run, too. Quantiles come from buckets that double, and the first of
    /// them is an upper bound.
    fileprivate func leastDifference(isOneThread: Bool) -> Double {
        switch self {
        case .throughput, .processorTime: log(isOneThread ? 1.06 : 1.08)
        case .holdMean: log(1.08)
        case .responseP99: log(1.5)
        case .waitP99: log(2)
        }
    }

    fileprivate func text(_ value: Double) -> String {
        switch self {
        case .throughput: FigureText.count(value) + "/s"
        case .processorTime, .holdMean, .responseP99: FigureText.duration(nanoseconds: value)
        case .waitP99: FigureText.quantile(nanoseconds: value)
        }
    }

    /// One for each repeat that has the figure.
    ///
    /// A repeat without operations is the slowest of all and must count: it has half an operation,
    /// and the planned duration instead of 0.
    fileprivate func logarithms(_ entry: ComparisonReport.Case, _ duration: Double) -> [Double] {
        entry.counted.compactMap { measured -> Double? in
            let operations = Double(measured.operations)
            return switch self {
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
        }.filter { $0 > 0 && $0.isFinite }.map { log($0) }
    }
}
