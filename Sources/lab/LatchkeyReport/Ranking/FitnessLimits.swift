internal import LatchkeyComparison

/// The limits beyond which a faster strategy is not recommended.
///
/// A limit counts in a case only if the current strategy keeps it there: what all locks do in a
/// case is no reason against one of them. Within the limits, fairness, waits, two modes and
/// processor time are advice, and decide nothing.
package struct FitnessLimits {
    /// The least part of its fair share that every thread has to get, in the median repeat.
    static let shareMin = 1.0 / 3
    /// A p99 wait above this and above ``waitRatioMax`` times that of the current strategy.
    static let waitNanosecondsMax = 1e6
    static let waitRatioMax = 10.0
    /// The worse of two modes is below this part of the current strategy's throughput, and the
    /// current strategy has no such modes.
    static let modeRatioMin = 0.5
    /// Processor time of an operation above this and ``processorRatioMax`` times that of the
    /// current strategy.
    static let processorNanosecondsMax = 1_000.0
    static let processorRatioMax = 4.0
    /// The share of reads from which on they dominate, so that writers may copy.
    package static let readRatioMin = 0.9

    /// A limit that is broken, with its figure.
    struct Breach {
        /// A clause without its subject: `leaves a thread 12 % of its share`.
        var text: String
        var place: String
    }

    /// The first limit that a case breaks, as the text of a ``Breach``; `nil` if it keeps all.
    static func breach(
        _ own: ComparisonReport.Case,
        of current: ComparisonReport.Case
    ) -> String? {
        share(own, current) ?? wait(own, current) ?? modes(own, current)
            ?? processorTime(own, current)
    }

    private static func share(
        _ own: ComparisonReport.Case,
        _ current: ComparisonReport.Case
    ) -> String? {
        guard let least = own.leastShare, least < shareMin, current.leastShare ?? 1 >= shareMin
        else { return nil }
        return "leaves a thread \(FigureText.percent(least)) of its share"
    }

    private static func wait(
        _ own: ComparisonReport.Case,
        _ current: ComparisonReport.Case
    ) -> String? {
        guard let wait = own.summary.wait?.p99Nanoseconds, wait > waitNanosecondsMax,
            let usual = current.summary.wait?.p99Nanoseconds,
            wait > waitRatioMax * max(usual, FigureText.quantileNanosecondsMin)
        else { return nil }
        return "has a p99 wait of \(FigureText.duration(nanoseconds: wait)) "
            + "(`\(current.strategy)` \(FigureText.quantile(nanoseconds: usual)))"
    }

    private static func modes(
        _ own: ComparisonReport.Case,
        _ current: ComparisonReport.Case
    ) -> String? {
        let figure = RankedFigure(own.workload)
        let pairs = figure.pairedSpeeds(own, current)
        guard let usual = Standing(current)?.repeatsSpeed, figure.isBistable(own),
            figure.modes(current)?.worse ?? usual >= modeRatioMin * usual,
            let modes = Modes(pairs.map { $0 / max($1, .leastNormalMagnitude) * usual }),
            modes.worse < modeRatioMin * usual
        else { return nil }
        return "has two modes, and in the worse one \(FigureText.percent(modes.worse / usual)) of "
            + "the speed of `\(current.strategy)`"
    }

    private static func processorTime(
        _ own: ComparisonReport.Case,
        _ current: ComparisonReport.Case
    ) -> String? {
        guard let time = own.processorNanoseconds, time > processorNanosecondsMax,
            let usual = current.processorNanoseconds, time > processorRatioMax * usual
        else { return nil }
        return "takes \(FigureText.duration(nanoseconds: time)) of processor time per operation "
            + "(`\(current.strategy)` \(FigureText.duration(nanoseconds: usual)))"
    }
}

extension ComparisonReport.Case {
    /// The part of its fair share that the thread with the fewest operations gets, in the median
    /// repeat.
    var leastShare: Double? {
        let shares = repeats.compactMap { entry -> Double? in
            let sum = entry.operationsPerThread.reduce(0, +)
            guard let least = entry.operationsPerThread.min(), sum > 0 else { return nil }
            return Double(least * entry.operationsPerThread.count) / Double(sum)
        }
        return shares.isEmpty ? nil : Statistics.median(shares)
    }

    /// Of an operation.
    var processorNanoseconds: Double? {
        summary.cpuSecondsPerMillionOperations.map { $0 * 1_000 }
    }
}
