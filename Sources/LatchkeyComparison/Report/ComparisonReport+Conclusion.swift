internal import LatchkeySync

extension ComparisonReport {
    /// Decides whether the figures can be ranked, and what they recommend.
    ///
    /// Figures of fewer repeats than can be told from chance are not ranked.
    ///
    /// - Parameter isForced: whether to rank under whatever conditions, and say so.
    package mutating func conclude(isForced: Bool) {
        let fewest = cases.map(\.repeats.count).min() ?? Conditions.repeatsMin
        if fewest < Conditions.repeatsMin {
            let finding =
                "A case has \(fewest) repeat\(fewest == 1 ? "" : "s"): with fewer than "
                + "\(Conditions.repeatsMin), a difference cannot be told from chance."
            if !conditions.findings.contains(finding) { conditions.findings.append(finding) }
            conditions.ranking = .refused
        }
        if isForced, conditions.ranking == .refused { conditions.ranking = .forced }
        recommendation = Recommendation(self)
    }
}

extension ComparisonReport.Case {
    /// Whether a thread has several operations of its own under way, and waits behind them.
    ///
    /// Its waits and its contention then say how it was driven, and do not compare with those of a
    /// strategy whose threads have one operation each.
    var waitsForItself: Bool {
        guard workload.threadMode == nil, let kind = StrategyKind(rawValue: strategy) else {
            return false
        }
        return kind.traits.appliesWritesAsynchronously
    }

    static let waitsForItselfNote =
        "* has up to 16 operations of a thread under way, which wait for each other: its wait and "
        + "contention do not compare with the others'."
}

extension ComparisonReport {
    /// Where a fitted curve is highest, as far as the sweep says.
    func peakText(_ fit: ScalingFit) -> String {
        guard let peak = fit.peakThreads ?? fit.curve.peakThreads else { return "none" }
        let last = cases.filter { $0.strategy == fit.strategy && $0.workload == fit.workload }
            .map(\.threads).max()
        if let last, peak > Double(last) { return "> \(last)" }
        return FigureText.fixed(peak, 1)
    }
}
