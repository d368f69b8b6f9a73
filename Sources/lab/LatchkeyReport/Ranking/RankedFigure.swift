internal import LatchkeyComparison
internal import LatchkeyVerdict

// The figure by which strategies are ranked, as a report has it.

extension RankedFigure {
    /// Converts responses to speeds.
    private static let nanosecondsPerSecond = 1e9

    init(_ workload: ComparisonReport.Workload?) {
        self = workload.map { $0.arrival == .closed } ?? true ? .throughput : .responseP99
    }

    /// Over the repeats, as it is shown; `nil` if it was not measured.
    func spread(_ entry: ComparisonReport.Case) -> ComparisonReport.Spread? {
        guard let speeds = speeds(entry) else { return nil }
        guard self == .responseP99 else { return speeds }
        return speeds.reversed { figure(of: $0) }
    }

    /// Over the repeats, so that more is better: operations or responses per second.
    func speeds(_ entry: ComparisonReport.Case) -> ComparisonReport.Spread? {
        guard self == .responseP99 else { return entry.summary.operationsPerSecond }
        let values = values(entry)
        return values.isEmpty ? nil : ComparisonReport.Spread(values)
    }

    /// The speed of each repeat that has one.
    private func values(_ entry: ComparisonReport.Case) -> [Double] {
        entry.counted.compactMap(speed)
    }

    /// The same, if the figure is of these repeats and not of rounds.
    private func decidingValues(_ entry: ComparisonReport.Case) -> [Double] {
        entry.rounds == nil ? values(entry) : []
    }

    /// The speed of a repeat, if it has one.
    func speed(_ entry: ComparisonReport.Repeat) -> Double? {
        switch self {
        case .throughput: entry.operationsPerSecond
        case .responseP99:
            entry.responseFromIntendedStart.map { figure(of: $0.p99Nanoseconds) }
        }
    }

    /// From a speed to the figure that is shown, or back.
    private func figure(of speed: Double) -> Double {
        self == .throughput ? speed : Self.nanosecondsPerSecond / max(speed, .leastNormalMagnitude)
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

    /// The marks before a figure in a table: `~` for two modes, `!` for a slow repeat, `>` for a
    /// rate that was not kept up with.
    func marks(_ entry: ComparisonReport.Case) -> String {
        let values = decidingValues(entry)
        return (Modes(values) == nil ? "" : "~") + (SlowRepeat(values) == nil ? "" : "!")
            + (Self.keepsUp(entry) ? "" : ">")
    }

    func text(_ value: Double) -> String {
        self == .throughput ? FigureText.count(value) : FigureText.duration(nanoseconds: value)
    }

    /// The interval of a case: `45.1–47.0M`, or `981k–1.02M`.
    func intervalText(_ spread: ComparisonReport.Spread) -> String {
        let ends = [text(spread.intervalLow), text(spread.intervalHigh)]
        let numbers = ends.map { $0.prefix { $0.isNumber || $0 == "." } }
        let units = zip(ends, numbers).map { $0.dropFirst($1.count) }
        return (units[0] == units[1] ? String(numbers[0]) : ends[0]) + "–" + ends[1]
    }
}

extension ComparisonReport.Case {
    /// One repeat alone says nothing about another one.
    var hasInterval: Bool { rounds != nil || counted.count > 1 }
}
