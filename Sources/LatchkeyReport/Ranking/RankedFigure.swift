internal import LatchkeyComparison

/// The figure by which strategies are ranked.
///
/// In a closed loop that is throughput. In an open loop operations begin at a given rate, so that
/// all strategies that keep up complete as many: there it is the p99 of the response, counted from
/// when an operation was due.
enum RankedFigure {
    case throughput
    case responseP99

    init(_ workload: ComparisonReport.Workload?) {
        self = workload.map { $0.arrival == .closed } ?? true ? .throughput : .responseP99
    }

    /// Over the repeats; `nil` if it was not measured.
    func spread(_ entry: ComparisonReport.Case) -> ComparisonReport.Spread? {
        guard self == .responseP99 else { return entry.summary.operationsPerSecond }
        let values = values(entry)
        return values.isEmpty ? nil : ComparisonReport.Spread(values, seed: 1)
    }

    /// Of each repeat that has it.
    private func values(_ entry: ComparisonReport.Case) -> [Double] {
        switch self {
        case .throughput: entry.repeats.map(\.operationsPerSecond)
        case .responseP99:
            entry.repeats.compactMap { $0.responseFromIntendedStart?.p99Nanoseconds }
        }
    }

    /// The worse of the two groups that the repeats fall into: its median and its range; `nil` if
    /// they are one group.
    func worseMode(_ entry: ComparisonReport.Case) -> (value: Double, low: Double, high: Double)? {
        let values = values(entry).map { max($0, Modes.valueMin) }
        guard let modes = Modes(values) else { return nil }
        let value = self == .throughput ? modes.worse : modes.better
        let border = (modes.worse * modes.better).squareRoot()
        let group = values.filter { ($0 < border) == (value < border) }
        return (value, group.min() ?? value, group.max() ?? value)
    }

    /// The share of the arrivals that have to be completed.
    private static let completedShareMin = 0.9

    /// Whether as many operations were completed as were due.
    ///
    /// Where they were not, the response grows with the length of the run, and says little else.
    static func keepsUp(_ entry: ComparisonReport.Case) -> Bool {
        guard let rate = entry.workload.arrival.operationsPerSecond else { return true }
        return entry.summary.operationsPerSecond.median >= completedShareMin * rate
    }

    func text(_ value: Double) -> String {
        self == .throughput ? FigureText.count(value) : FigureText.duration(nanoseconds: value)
    }

    /// What one strategy, or several, do at this speed.
    func predicate(of speed: Double, isOne: Bool) -> String {
        switch self {
        case .throughput:
            (isOne ? "it completes " : "they complete about ") + text(speed)
                + " operations per second"
        case .responseP99:
            "the p99 of "
                + (isOne
                    ? "its response from the due time is "
                    : "their responses from the due time is about ") + text(1 / speed)
        }
    }
}
