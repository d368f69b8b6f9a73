import Foundation
import LatchkeyComparison

/// One side of a comparison: a name, and something that takes time.
struct Contender {
    let name: String
    /// Does the work once and returns its cost: nanoseconds for each operation.
    let nanosecondsPerOperation: () -> Double
}

/// How the two costs of a comparison become a figure.
enum Figure {
    /// Subject ÷ reference, of costs: lower is better.
    case costRatio(atMost: Double?)
    /// The same, which is to be close to 1.
    case costRatioWithin(ClosedRange<Double>)
    /// The same, where the 95 % intervals of the two costs are to overlap.
    case overlap
    /// Reference ÷ subject, of costs, which is the ratio of the throughputs: higher is better.
    case throughputRatio(atLeast: Double)
    /// The subject's cost, in nanoseconds; the reference is printed beside it: lower is better.
    case nanoseconds(atMost: Double)
    /// Subject − reference, in nanoseconds: lower is better.
    case addedNanoseconds(atMost: Double)
}

/// A row of the table: a comparison and its target.
struct Comparison {
    let measure: String
    let figure: Figure
    let subject: Contender
    let reference: Contender
}

/// Measures a comparison so that a drift of the machine falls on both sides, and prints one line of
/// JSON, which the bench script merges into its table.
///
/// **Design.** In each round both contenders run once, in another order from round to round; the
/// figure is formed within the round. The median over the rounds is the result; the figures of all
/// are printed too, from which the bench script computes its interval. The first round is not
/// counted.
func measure(_ comparison: Comparison, rounds: Int) throws {
    var (subjects, references): ([Double], [Double]) = ([], [])
    for round in 0...rounds {
        if round.isMultiple(of: 2) {
            subjects.append(comparison.subject.nanosecondsPerOperation())
            references.append(comparison.reference.nanosecondsPerOperation())
        } else {
            references.append(comparison.reference.nanosecondsPerOperation())
            subjects.append(comparison.subject.nanosecondsPerOperation())
        }
    }
    (subjects, references) = (Array(subjects.dropFirst()), Array(references.dropFirst()))
    let figures = zip(subjects, references).map(comparison.figure.value)
    let result = Statistics.median(figures)
    let (target, isMet) = comparison.figure.target(result, subjects, references)
    let row = Row(
        measure: comparison.measure,
        unit: comparison.figure.unit,
        subject: comparison.subject.name,
        reference: comparison.reference.name,
        ratio: result,
        rounds: figures,
        target: target,
        isMet: isMet,
        nanosecondsPerOperation: Statistics.median(subjects),
        referenceNanoseconds: Statistics.median(references)
    )
    try printLine(row)
}

/// Prints one line of JSON for figures that were not measured as a comparison.
func report(
    measure: String,
    unit: String,
    values: [Double],
    atMost: Double?,
    note: String,
    nanoseconds: Double? = nil
) throws {
    let result = Statistics.median(values)
    let row = Row(
        measure: measure,
        unit: unit,
        subject: note,
        reference: nil,
        ratio: result,
        rounds: values,
        target: atMost.map { "at most \($0.formatted())" },
        isMet: atMost.map { result <= $0 },
        nanosecondsPerOperation: nanoseconds,
        referenceNanoseconds: nil
    )
    try printLine(row)
}

private func printLine(_ row: Row) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    print(try String(decoding: encoder.encode(row), as: UTF8.self))
}

private struct Row: Encodable {
    let measure: String
    let unit: String
    let subject: String
    let reference: String?
    let ratio: Double
    /// The figure of each round.
    let rounds: [Double]
    let target: String?
    let isMet: Bool?
    let nanosecondsPerOperation: Double?
    let referenceNanoseconds: Double?
}

extension Figure {
    fileprivate func value(subject: Double, reference: Double) -> Double {
        switch self {
        case .costRatio, .costRatioWithin, .overlap: subject / reference
        case .throughputRatio: reference / subject
        case .nanoseconds: subject
        case .addedNanoseconds: subject - reference
        }
    }

    fileprivate var unit: String {
        switch self {
        case .costRatio, .costRatioWithin, .overlap: "cost ratio"
        case .throughputRatio: "throughput ratio"
        case .nanoseconds, .addedNanoseconds: "nanoseconds"
        }
    }

    /// The target of the figure, and whether it is met.
    fileprivate func target(
        _ value: Double,
        _ subjects: [Double],
        _ references: [Double]
    ) -> (String?, Bool?) {
        switch self {
        case .costRatio(nil): return (nil, nil)
        case .costRatio(let bound?): return ("at most \(bound)", value <= bound)
        case .costRatioWithin(let range):
            return ("\(range.lowerBound) to \(range.upperBound)", range.contains(value))
        case .overlap:
            let one = ComparisonReport.Spread(subjects)
            return ("intervals overlap", one.overlaps(ComparisonReport.Spread(references)))
        case .throughputRatio(let bound): return ("at least \(bound)", value >= bound)
        case .nanoseconds(let bound): return ("at most \(bound) ns", value <= bound)
        case .addedNanoseconds(let bound): return ("at most +\(bound) ns", value <= bound)
        }
    }
}

/// Nanoseconds for each of `operations`, of one call of `body`.
func nanoseconds(for operations: Int, _ body: () -> Void) -> Double {
    let begin = DispatchTime.now().uptimeNanoseconds
    body()
    return Double(DispatchTime.now().uptimeNanoseconds - begin) / Double(operations)
}
