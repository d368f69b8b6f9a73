internal import Foundation
internal import LatchkeyComparison

/// How a strategy stands to another one where the processors are near each other, and where they
/// are far apart, on several threads.
struct ModeGains: Equatable {
    /// Fewer repeats of a mode are not told of; of rounds it has to be 20.
    static let repeatsMin = 5

    /// Geometric means of the ratios of rounds, or repeats, with one index in the same mode.
    let near: Double
    let far: Double

    /// `nil` unless both modes came often enough.
    init?(_ report: ComparisonReport, _ name: String, _ other: String) {
        guard name != other else { return nil }
        let entries = report.cases.filter { $0.threads > 1 }
        let ratios = entries.filter { $0.strategy == name }.flatMap { own in
            let situation = Ranking.Situation(own)
            let theirs = entries.first {
                $0.strategy == other && Ranking.Situation($0) == situation
            }
            return theirs.map { RankedFigure(own.workload).ratioLogarithms(own, to: $0) } ?? []
        }
        let least =
            entries.contains { $0.rounds != nil }
            ? ComparisonReport.Rounds.countedMin : Self.repeatsMin
        func mean(_ mode: ComparisonReport.ProcessorDistance) -> Double? {
            let logarithms = ratios.filter { $0.processors == mode }.map(\.logarithm)
            guard logarithms.count >= least else { return nil }
            return exp(logarithms.reduce(0, +) / Double(logarithms.count))
        }
        guard let near = mean(.near), let far = mean(.far) else { return nil }
        (self.near, self.far) = (near, far)
    }

    func sentence(_ figure: RankedFigure, over name: String) -> String {
        func text(_ ratio: Double) -> String {
            ratio >= 1 ? figure.gain(ratio, over: name) : figure.loss(1 / ratio) + " than `\(name)`"
        }
        return "On several threads: \(text(near)) with processors near each other, \(text(far)) "
            + "with processors far apart."
    }
}

extension RankedFigure {
    /// The ratios of rounds, or where there are none of repeats, with one index and the same
    /// distance of the processors, as logarithms.
    fileprivate func ratioLogarithms(
        _ one: ComparisonReport.Case,
        to other: ComparisonReport.Case
    ) -> [(logarithm: Double, processors: ComparisonReport.ProcessorDistance?)] {
        if self == .throughput, let own = one.rounds, let others = other.rounds {
            return own.ratioLogarithms(to: others).map { ($0.logarithm, $0.processors) }
        }
        return pairedRepeats(one, other).filter { $0.processors == $1.processors }
            .compactMap { own, theirs in
                guard let one = self.speed(own), let other = self.speed(theirs) else { return nil }
                return (SpeedRatio.logarithm(one, other), own.processors)
            }
    }
}
