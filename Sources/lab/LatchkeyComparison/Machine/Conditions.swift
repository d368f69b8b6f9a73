import LatchkeyMachine
internal import LatchkeyVerdict

extension ComparisonReport.Conditions {
    /// The fewest repeats that tell a difference from chance.
    package static let repeatsMin = 3
    /// The number of processors that other processes keep busy on average on a quiet machine.
    ///
    /// A build or a browser keeps more busy.
    static let foreignProcessorsMax = 0.15
    /// The share of the processors' time that other guests take normally.
    static let stealRatioMax = 0.02
    /// The share of the run for which a control group keeps the process from running normally.
    static let throttledRatioMax = 0.01

    /// Judges the time between two readings.
    ///
    /// - Parameters:
    ///   - before: The machine when the run began.
    ///   - after: The machine when it ended.
    ///   - isForced: Whether the figures are ranked in spite of the findings.
    ///   - fingerprint: The machine and the build.
    ///   - others: Other findings that forbid a ranking.
    init(
        from before: MachineReading,
        to after: MachineReading,
        isForced: Bool,
        fingerprint: ComparisonReport.Fingerprint,
        findings others: [String] = []
    ) {
        let seconds = max(1e-3, Double(after.nanoseconds - before.nanoseconds) / 1e9)
        func grown(_ figure: (MachineReading) -> Double?) -> Double? {
            guard let from = figure(before), let to = figure(after) else { return nil }
            return max(0, to - from)
        }
        let own = after.ownSeconds - before.ownSeconds
        let foreign = grown(\.busySeconds).map { max(0, $0 - own) / seconds }
        let processors = Double(fingerprint.processorsOnline)
        let steal = grown(\.stealSeconds).map { $0 / (seconds * processors) }
        let throttled = grown(\.throttledSeconds)
        let isDebug = fingerprint.configuration == "debug"
        let findings =
            (isDebug
                ? ["This is a debug build. Its figures say nothing about a release build."] : [])
            + (foreign == nil
                ? ["The load of other processes is unknown: /proc/stat is missing."] : []) + others
        self.init(
            ranking: findings.isEmpty ? .allowed : isForced ? .forced : .refused,
            findings: findings,
            disturbances: Self.disturbances(foreign, steal, throttled, seconds),
            loadAverageBefore: before.loadAverage,
            loadAverageAfter: after.loadAverage,
            foreignProcessors: foreign,
            stealRatio: steal,
            throttledSeconds: throttled
        )
    }

    /// The figures that are beyond the normal ones.
    private static func disturbances(
        _ foreign: Double?,
        _ steal: Double?,
        _ throttled: Double?,
        _ seconds: Double
    ) -> [String] {
        var found: [String] = []
        if let foreign, foreign > foreignProcessorsMax {
            found.append(
                "Other processes kept \(fixed(foreign, beyond: foreignProcessorsMax)) processors "
                    + "busy; up to \(foreignProcessorsMax) is normal."
            )
        }
        if let steal, steal > stealRatioMax {
            found.append(
                "The hypervisor took \(fixed(100 * steal, beyond: 100 * stealRatioMax, digits: 1)) "
                    + "% of the processors' time; up to \(percent(stealRatioMax)) is normal."
            )
        }
        let throttledMax = throttledRatioMax * seconds
        if let throttled, throttled > throttledMax {
            found.append(
                "The control group kept this process from running for "
                    + "\(fixed(throttled, beyond: throttledMax)) s of "
                    + "\(FigureText.fixed(seconds, 2)) s; up to \(percent(throttledRatioMax)) is "
                    + "normal."
            )
        }
        return found
    }

    /// A figure with this many digits, or with more if needed to distinguish it from the limit.
    private static func fixed(_ value: Double, beyond bound: Double, digits: Int = 2) -> String {
        // The digits of a `Double`.
        let digitsMax = 17
        let told = (digits...digitsMax).first {
            FigureText.fixed(value, $0) != FigureText.fixed(bound, $0)
        }
        return FigureText.fixed(value, told ?? digitsMax)
    }

    private static func percent(_ share: Double) -> String {
        FigureText.fixed(100 * share, 1) + " %"
    }
}
