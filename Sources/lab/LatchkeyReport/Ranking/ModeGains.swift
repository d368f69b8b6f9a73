internal import Foundation
internal import LatchkeyComparison

/// How a strategy stands to another one where the processors are near each other, and where they
/// are far apart, on several threads.
///
/// A ratio is the geometric mean over the cases. In a case it is the ``SpeedRatio`` if both figures
/// are of that mode, so that the list agrees with line one; else the median of the ratios of the
/// rounds, or repeats, with one index in the same mode.
struct ModeGains: Equatable {
    /// Fewer repeats of a mode are not told of; of rounds it has to be 20.
    static let repeatsMin = 5
    /// The fewest ratios in a mode that have a median in one case.
    private static let countMin = ComparisonReport.Conditions.repeatsMin

    typealias Distance = ComparisonReport.ProcessorDistance

    let near: Double
    let far: Double
    /// The modes in which line one has no figure.
    private let unusual: [Distance]

    /// `nil` unless both modes came often enough.
    init?(_ headline: Headline, _ name: String, _ other: String) {
        guard name != other else { return nil }
        let situations = headline.ranking.situations.filter { $0.threads > 1 }
        let pairs = situations.compactMap { situation -> Pair? in
            guard let own = headline.entry(name, in: situation),
                let theirs = headline.entry(other, in: situation)
            else { return nil }
            return Pair(own, theirs)
        }
        let hasRounds = pairs.contains(where: \.hasRounds)
        let least = hasRounds ? ComparisonReport.Rounds.countedMin : Self.repeatsMin
        func mean(_ mode: Distance) -> Double? {
            let count = pairs.map { $0.logarithms(mode).count }.reduce(0, +)
            let logarithms = pairs.compactMap { $0.logarithm(mode, countMin: Self.countMin) }
            guard count >= least, logarithms.count == pairs.count else { return nil }
            return exp(logarithms.reduce(0, +) / Double(logarithms.count))
        }
        guard let near = mean(.near), let far = mean(.far) else { return nil }
        (self.near, self.far) = (near, far)
        unusual = [.near, .far].filter { mode in !pairs.contains { $0.usual == mode } }
    }

    func sentence(_ figure: RankedFigure, over name: String) -> String {
        func text(_ ratio: Double) -> String {
            ratio >= 1 ? figure.gain(ratio, over: name) : figure.loss(1 / ratio, than: name)
        }
        return "On several threads: \(text(near)) with processors near each other, \(text(far)) "
            + "with processors far apart."
    }

    /// That nothing is gained in the mode which is not that of the table, as a clause; `nil`
    /// if something is.
    func condition(_ figure: RankedFigure, over name: String) -> String? {
        let gains = unusual.map { (mode: $0, gain: $0 == .far ? far : near) }
        guard let worst = gains.min(by: { $0.gain < $1.gain }), worst.gain < 1 else { return nil }
        let place = worst.mode == .far ? "far apart" : "near each other"
        // Less than 10 % is no difference that counts.
        let isLoss = 1 / worst.gain >= Headline.gainMin
        let loss =
            isLoss ? figure.loss(1 / worst.gain, than: name) : "not better than `\(name)`"
        return "with processors \(place): \(loss)"
    }
}

/// Two strategies in one case.
private struct Pair {
    /// The mode of both figures.
    let usual: ModeGains.Distance?
    let hasRounds: Bool
    private let ratio: SpeedRatio?
    private let ratios: [(logarithm: Double, processors: ModeGains.Distance?)]

    init(_ own: ComparisonReport.Case, _ other: ComparisonReport.Case) {
        usual = own.usual(with: other)
        hasRounds = own.rounds != nil || other.rounds != nil
        ratio = SpeedRatio(own, other)
        ratios = RankedFigure(own.workload).ratioLogarithms(own, to: other)
    }

    func logarithms(_ mode: ModeGains.Distance) -> [Double] {
        ratios.filter { $0.processors == mode }.map(\.logarithm)
    }

    /// Of the ratio in a mode.
    func logarithm(_ mode: ModeGains.Distance, countMin: Int) -> Double? {
        if mode == usual, let ratio { return log(ratio.value) }
        let logarithms = logarithms(mode)
        return logarithms.count >= countMin ? Statistics.median(logarithms) : nil
    }
}

extension RankedFigure {
    /// The ratios of rounds, or where there are none of repeats, with one index and the same
    /// distance of the processors, as logarithms.
    fileprivate func ratioLogarithms(
        _ one: ComparisonReport.Case,
        to other: ComparisonReport.Case
    ) -> [(logarithm: Double, processors: ModeGains.Distance?)] {
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
