/// A way to measure the cases of a run: in this process, or over HTTP.
protocol ComparisonMethod {
    /// Labels of the preparations, for the progress line.
    var preparations: [String] { get }
    /// The time that a preparation and a repeat take, for the estimate.
    var preparationSeconds: Double { get }
    var repeatSeconds: Double { get }

    mutating func prepare(_ index: Int) throws(MeasurementFailure)

    /// Takes one repeat of a case.
    mutating func measure(
        _ planned: PlannedCase,
        repeatIndex: Int
    ) throws(MeasurementFailure) -> ComparisonReport.Repeat

    /// Whether it takes rounds of short slices.
    var hasRounds: Bool { get }

    /// Takes a short slice of each of these cases, which are of one situation, in this order.
    mutating func measureRound(
        _ cases: [PlannedCase],
        roundIndex: Int
    ) throws(RoundFailure) -> [SliceResult]

    /// Ends the processes that `prepare` has started; a second call does nothing.
    mutating func end()

    /// The steps of work of an operation, if it does any.
    func cost(_ planned: PlannedCase) -> OperationCost?
    var instrument: ComparisonReport.InstrumentCost { get }
    /// Why the figures cannot be trusted, a sentence each.
    var findings: [String] { get }
    /// The verdicts on the measured operations themselves.
    var verdicts: [ComparisonReport.Verdict] { get }
}

/// Defaults: there are no preparations, there is no work, no rounds, and nothing is checked.
extension ComparisonMethod {
    var preparations: [String] { [] }
    var preparationSeconds: Double { 0 }
    var hasRounds: Bool { false }
    var verdicts: [ComparisonReport.Verdict] { [] }

    func prepare(_ index: Int) {}
    func end() {}
    func cost(_ planned: PlannedCase) -> OperationCost? { nil }

    mutating func measureRound(
        _ cases: [PlannedCase],
        roundIndex: Int
    ) throws(RoundFailure) -> [SliceResult] { [] }
}

/// Why a round has no result, and in which case.
struct RoundFailure: Error {
    var cause: MeasurementFailure
    var planned: PlannedCase
}
