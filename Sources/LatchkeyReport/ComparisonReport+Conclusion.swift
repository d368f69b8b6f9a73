package import LatchkeyComparison
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
                "A case has \(FigureText.counted(fewest, "repeat")): with fewer than "
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

extension ComparisonReport.Crossover {
    /// Whether no number of threads lies between the two measured ones.
    var isBetweenNeighbors: Bool { axis == .threads && to - from <= 1 }
}

extension ComparisonReport {
    /// Where a fitted curve is highest, as far as the sweep says.
    func peakText(_ fit: ScalingFit) -> String {
        guard describesSweep(fit) else { return "–" }
        guard let peak = fit.peakThreads ?? fit.curve.peakThreads else { return "none" }
        let last = sweep(of: fit).map(\.threads).max()
        if let last, peak > Double(last) { return "> \(last)" }
        return FigureText.fixed(peak, 1)
    }

    /// Whether the fitted curve goes by what was measured.
    func describesSweep(_ fit: ScalingFit) -> Bool {
        fit.curve.describes(
            sweep(of: fit).map { (Double($0.threads), $0.summary.operationsPerSecond.median) }
        )
    }

    private func sweep(of fit: ScalingFit) -> [Case] {
        cases.filter { $0.strategy == fit.strategy && $0.workload == fit.workload }
    }

    /// Below a table in which a fit is marked.
    static let missNote =
        "? misses a measured throughput by more than a factor of 1.5: the law knows slopes and no "
        + "cliffs, and the terms of such a curve mean nothing."
}
