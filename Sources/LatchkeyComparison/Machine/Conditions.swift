import LatchkeyMachine

extension ComparisonReport.Conditions {
    /// The fewest repeats that show a difference from chance.
    package static let repeatsMin = 3
    /// The number of processors that other processes may keep busy on average.
    ///
    /// A quiet machine stays below; a build or a browser is above.
    static let foreignProcessorsMax = 0.15
    /// The share of the processors' time that other guests may take.
    static let stealRatioMax = 0.02
    /// The share of the run for which the control group may keep the process from running.
    static let throttledRatioMax = 0.01

    /// Judges the time between two readings.
    ///
    /// - Parameters:
    ///   - before: The machine when the run began.
    ///   - after: The machine when it ended.
    ///   - isForced: Whether the figures are ranked in spite of what is found.
    ///   - fingerprint: The machine and the build.
    ///   - others: What was found elsewhere that forbids a ranking.
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
        var findings: [String] = []
        if fingerprint.configuration == "debug" {
            findings.append("This is a debug build. Its figures say nothing about a release build.")
        }
        if let foreign {
            if foreign > Self.foreignProcessorsMax {
                findings.append(
                    "Other processes kept "
                        + Self.fixed(foreign, beyond: Self.foreignProcessorsMax)
                        + " processors busy; at most \(Self.foreignProcessorsMax) is allowed."
                )
            }
        } else {
            findings.append(
                "The load of other processes is unknown: /proc/stat is missing."
            )
        }
        if let steal, steal > Self.stealRatioMax {
            findings.append(
                "The hypervisor took "
                    + Self.fixed(100 * steal, beyond: 100 * Self.stealRatioMax, digits: 1)
                    + " % of the processors' time; "
                    + "at most \(Self.percent(Self.stealRatioMax)) is allowed."
            )
        }
        let throttledMax = Self.throttledRatioMax * seconds
        if let throttled, throttled > throttledMax {
            findings.append(
                "The control group kept this process from running for "
                    + "\(Self.fixed(throttled, beyond: throttledMax)) s of "
                    + "\(FigureText.fixed(seconds, 2)) s; "
                    + "at most \(Self.percent(Self.throttledRatioMax)) is allowed."
            )
        }
        findings += others
        self.init(
            ranking: findings.isEmpty ? .allowed : isForced ? .forced : .refused,
            findings: findings,
            loadAverageBefore: before.loadAverage,
            loadAverageAfter: after.loadAverage,
            foreignProcessors: foreign,
            stealRatio: steal,
            throttledSeconds: throttled
        )
    }

    /// A figure with this many digits, or with more if needed to distinguish it from the bound.
    private static func fixed(_ value: Double, beyond bound: Double, digits: Int = 2) -> String {
        // What a `Double` has.
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
