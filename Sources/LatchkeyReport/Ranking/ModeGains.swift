internal import Foundation
internal import LatchkeyComparison

/// How a strategy stands to another one where the processors are near each other, and where they
/// are far apart, on several threads.
struct ModeGains: Equatable {
    /// Fewer repeats of a mode are not told of.
    static let repeatsMin = 5

    /// Geometric means of the ratios of repeats with one index in the same mode.
    let near: Double
    let far: Double

    /// `nil` unless both modes came often enough.
    init?(_ report: ComparisonReport, _ name: String, _ other: String) {
        guard name != other else { return nil }
        let entries = report.cases.filter { $0.threads > 1 }
        let pairs = entries.filter { $0.strategy == name }.flatMap { own in
            let situation = Ranking.Situation(own)
            let theirs = entries.first {
                $0.strategy == other && Ranking.Situation($0) == situation
            }
            return theirs.map { RankedFigure(own.workload).pairedRepeats(own, $0) } ?? []
        }
        func mean(_ mode: ComparisonReport.ProcessorDistance) -> Double? {
            let figure = RankedFigure(report.cases.first?.workload)
            let logarithms = pairs.filter { $0.processors == mode && $1.processors == mode }
                .compactMap { own, theirs in
                    figure.speed(own).flatMap { own in
                        figure.speed(theirs).map {
                            log(max(own, Modes.valueMin) / max($0, Modes.valueMin))
                        }
                    }
                }
            guard logarithms.count >= Self.repeatsMin else { return nil }
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
