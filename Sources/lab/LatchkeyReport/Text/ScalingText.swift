internal import LatchkeyComparison

extension ComparisonReport {
    /// Where a fitted curve is highest, as far as the sweep says.
    func peakText(_ fit: ScalingFit) -> String {
        guard describesSweep(fit) else { return "–" }
        guard let peak = fit.peakThreads ?? fit.curve.peakThreads else { return "none" }
        let last = sweep(of: fit).map(\.threads).max()
        if let last, peak > Double(last) { return "> \(last)" }
        return FigureText.fixed(peak, 1)
    }

    /// Whether the fitted curve agrees with what was measured.
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
        "? misses a measured throughput by more than a factor of 1.5: the law cannot describe a "
        + "sudden drop; do not use σ and κ of this curve."
}
