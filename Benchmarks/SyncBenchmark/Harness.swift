import Foundation

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
    /// Reference ÷ subject, of costs, which is the ratio of the throughputs: higher is better.
    case throughputRatio(atLeast: Double)
    /// Subject − reference, in nanoseconds: lower is better.
    case addedNanoseconds(atMost: Double)
}

/// A row of the table: what is compared, and what it should be.
struct Comparison {
    let measure: String
    let figure: Figure
    let subject: Contender
    let reference: Contender
}

/// Measures comparisons so that a drift of the machine falls on both sides.
///
/// **Design.** In each round, every contender of a comparison runs once, the order turning from
/// round to round; the figure is formed within the round. The median over the rounds is the
/// result; the figures of all are printed too, from which the bench script has its interval. The
/// first round is not counted.
struct Harness {
    let rounds: Int

    func measure(_ comparison: Comparison) -> Row {
        var figures: [Double] = []
        var costs: [Double] = []
        for round in 0...rounds {
            let subject: Double
            let reference: Double
            if round.isMultiple(of: 2) {
                subject = comparison.subject.nanosecondsPerOperation()
                reference = comparison.reference.nanosecondsPerOperation()
            } else {
                reference = comparison.reference.nanosecondsPerOperation()
                subject = comparison.subject.nanosecondsPerOperation()
            }
            if round > 0 {
                figures.append(comparison.figure.value(subject: subject, reference: reference))
                costs.append(subject)
            }
        }
        return Row(
            measure: comparison.measure,
            unit: comparison.figure.unit,
            subject: comparison.subject.name,
            reference: comparison.reference.name,
            ratio: median(figures),
            rounds: figures,
            target: comparison.figure.target,
            isMet: comparison.figure.isMet(by: median(figures)),
            nanosecondsPerOperation: median(costs)
        )
    }

    private func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2)
            ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }
}

/// A measured row, printed as one line of JSON, which the bench script merges into its table.
struct Row: Encodable {
    let measure: String
    let unit: String
    let subject: String
    let reference: String
    let ratio: Double
    /// The figure of each round.
    let rounds: [Double]
    let target: String?
    let isMet: Bool?
    let nanosecondsPerOperation: Double

    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try String(decoding: encoder.encode(rounded), as: UTF8.self)
    }

    private var rounded: Row {
        func three(_ value: Double) -> Double { (value * 1000).rounded() / 1000 }
        return Row(
            measure: measure,
            unit: unit,
            subject: subject,
            reference: reference,
            ratio: three(ratio),
            rounds: rounds.map(three),
            target: target,
            isMet: isMet,
            nanosecondsPerOperation: three(nanosecondsPerOperation)
        )
    }
}

extension Figure {
    fileprivate func value(subject: Double, reference: Double) -> Double {
        switch self {
        case .costRatio: subject / reference
        case .throughputRatio: reference / subject
        case .addedNanoseconds: subject - reference
        }
    }

    fileprivate var unit: String {
        switch self {
        case .costRatio: "cost ratio"
        case .throughputRatio: "throughput ratio"
        case .addedNanoseconds: "nanoseconds"
        }
    }

    fileprivate var target: String? {
        switch self {
        case .costRatio(let bound): bound.map { "at most \($0)" }
        case .throughputRatio(let bound): "at least \(bound)"
        case .addedNanoseconds(let bound): "at most +\(bound) ns"
        }
    }

    fileprivate func isMet(by value: Double) -> Bool? {
        switch self {
        case .costRatio(let bound): bound.map { value <= $0 }
        case .throughputRatio(let bound): value >= bound
        case .addedNanoseconds(let bound): value <= bound
        }
    }
}

/// Nanoseconds for each of `operations`, of one call of `body`.
func nanoseconds(for operations: Int, _ body: () -> Void) -> Double {
    let begin = DispatchTime.now().uptimeNanoseconds
    body()
    return Double(DispatchTime.now().uptimeNanoseconds - begin) / Double(operations)
}
