internal import LatchkeyComparison

/// The figure by which strategies are ranked.
///
/// Where an operation begins when the last one has ended, that is throughput. In an open loop
/// operations begin at a given rate, so that all strategies which keep up complete as many, and the
/// one that makes nobody wait is best: there it is the p99 of the response, counted from when an
/// operation was due.
enum RankedFigure {
    case throughput
    case responseP99

    init(_ workload: ComparisonReport.Workload) {
        self = workload.arrival == .closed ? .throughput : .responseP99
    }

    /// Of a whole report: one run has one kind of arrival.
    init(_ report: ComparisonReport) {
        self = report.cases.first.map { Self($0.workload) } ?? .throughput
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
    func worseMode(
        _ entry: ComparisonReport.Case
    ) -> (value: Double, low: Double, high: Double)? {
        let values = values(entry).map { max($0, Modes.valueMin) }
        guard let modes = Modes(values) else { return nil }
        let value = self == .throughput ? modes.worse : modes.better
        let border = (modes.worse * modes.better).squareRoot()
        let group = values.filter { isBetter(border, than: $0) }
        return (value, group.min() ?? value, group.max() ?? value)
    }

    /// The share of the arrivals that have to be completed.
    ///
    /// What was due and had not begun at the end of a repeat is missing from what was completed,
    /// also where nothing but the last few operations was late.
    static let completedShareMin = 0.9

    /// Whether as many operations were completed as were due.
    ///
    /// Where they were not, operations wait for longer the longer the run lasts, and the response
    /// says how long that was.
    static func keepsUp(_ entry: ComparisonReport.Case) -> Bool {
        guard case .open(let rate) = entry.workload.arrival else { return true }
        return entry.summary.operationsPerSecond.median >= completedShareMin * rate
    }

    func isBetter(_ value: Double, than other: Double) -> Bool {
        self == .throughput ? value > other : value < other
    }

    /// By which share the better value is more, or in an open loop less, than the other.
    func lead(_ better: Double, over other: Double) -> Double {
        self == .throughput ? better / other - 1 : 1 - better / other
    }

    // MARK: In words

    func text(_ value: Double) -> String {
        self == .throughput ? FigureText.count(value) : FigureText.duration(nanoseconds: value)
    }

    var title: String {
        self == .throughput ? "Throughput" : "p99 of the response from when it was due"
    }

    var unit: String {
        self == .throughput ? "operations per second" : "response from when it was due"
    }

    /// What the lead is called: `12 % more than`.
    var comparative: String { self == .throughput ? "more" : "less" }

    /// What one strategy, or several, do with this value.
    func predicate(_ value: Double, isOne: Bool) -> String {
        switch self {
        case .throughput:
            (isOne ? "it completes " : "they complete about ") + text(value)
                + " operations per second"
        case .responseP99:
            (isOne
                ? "its response from when an operation was due has a p99 of "
                : "their responses from when an operation was due have a p99 of about ")
                + text(value)
        }
    }
}
