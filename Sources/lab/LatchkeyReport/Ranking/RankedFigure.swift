internal import LatchkeyComparison

/// The figure by which strategies are ranked.
///
/// In a closed loop that is throughput. In an open loop operations begin at a given rate, so that
/// all strategies that keep up complete as many: there it is the p99 of the response, counted from
/// when an operation was due.
enum RankedFigure {
    case throughput
    case responseP99

    /// Responses become speeds by this.
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
    func figure(of speed: Double) -> Double {
        self == .throughput ? speed : Self.nanosecondsPerSecond / max(speed, .leastNormalMagnitude)
    }

    /// Whether the repeats form two groups.
    func isBistable(_ entry: ComparisonReport.Case) -> Bool { modes(entry) != nil }

    func modes(_ entry: ComparisonReport.Case) -> Modes? { Modes(decidingValues(entry)) }

    /// The speed of the one repeat that is far slower than the others.
    func slowRepeat(_ entry: ComparisonReport.Case) -> Double? {
        SlowRepeat(decidingValues(entry))?.value
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
        (isBistable(entry) ? "~" : "") + (slowRepeat(entry) == nil ? "" : "!")
            + (Self.keepsUp(entry) ? "" : ">")
    }

    func text(_ value: Double) -> String {
        self == .throughput ? FigureText.count(value) : FigureText.duration(nanoseconds: value)
    }

    func text(ofSpeed speed: Double) -> String { text(figure(of: speed)) }

    /// The interval of a case: `45.1–47.0M`, or `981k–1.02M`.
    func intervalText(_ spread: ComparisonReport.Spread) -> String {
        let ends = [text(spread.intervalLow), text(spread.intervalHigh)]
        let numbers = ends.map { $0.prefix { $0.isNumber || $0 == "." } }
        let units = zip(ends, numbers).map { $0.dropFirst($1.count) }
        return (units[0] == units[1] ? String(numbers[0]) : ends[0]) + "–" + ends[1]
    }

    /// From here on a shorter response is told as a factor: its share would be 99 or 100 %.
    private static let shareMax = 100.0

    /// By how much more a strategy does that is this many times as fast, before `than` or `as`:
    /// `28 % more`, `2.10 times as many`.
    func gain(_ ratio: Double) -> String {
        switch self {
        case .throughput where ratio < 2: FigureText.percent(ratio - 1) + " more"
        case .throughput: FigureText.count(ratio) + " times as many"
        case .responseP99 where ratio < Self.shareMax:
            FigureText.percent(1 - 1 / ratio) + " shorter p99 response"
        case .responseP99: FigureText.count(ratio) + " times shorter p99 response"
        }
    }

    /// The same with the other strategy: `28 % more than `lock``.
    func gain(_ ratio: Double, over name: String) -> String {
        let isFactor = self == .throughput && ratio >= 2
        return gain(ratio) + (isFactor ? " as" : " than") + " `\(name)`"
    }

    /// Of the figure, for a strategy that is this many times as fast: `+28 %`, `2.10 times`.
    func change(_ ratio: Double) -> String {
        switch self {
        case .throughput where ratio < 2: FigureText.change(ratio - 1)
        case .throughput: FigureText.count(ratio) + " times"
        case .responseP99 where ratio < Self.shareMax: FigureText.change(1 / ratio - 1)
        case .responseP99: FigureText.count(ratio) + " times shorter"
        }
    }

    /// By how much slower a strategy is that another is this many times as fast as.
    func loss(_ ratio: Double) -> String {
        ratio < 2
            ? FigureText.percent(1 - 1 / ratio) + " slower"
            : FigureText.count(ratio) + " times slower"
    }

    /// The same with the other strategy: `19 % slower than `lock``.
    func loss(_ ratio: Double, than name: String) -> String { loss(ratio) + " than `\(name)`" }
}
