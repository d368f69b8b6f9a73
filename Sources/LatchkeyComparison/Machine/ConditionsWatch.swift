import CLatchkeySystem
import Glibc
import LatchkeyContention

/// What the machine has done so far, as far as the kernel counts it.
struct MachineReading: Sendable, Equatable {
    var nanoseconds: UInt64 = 0
    /// Time of all processors together, in seconds: spent on any process, and given to other guests
    /// by the hypervisor.
    ///
    /// `nil` where the kernel does not say.
    var busySeconds: Double?
    var stealSeconds: Double?
    /// Time that this process used, in seconds.
    var ownSeconds = 0.0
    /// For how long the control groups kept what is in them from running, in seconds.
    var throttledSeconds: Double?
    var loadAverage: [Double] = []

    static func now() -> MachineReading {
        var reading = MachineReading()
        reading.nanoseconds = latchkey_system_nanoseconds()
        reading.ownSeconds = Double(Usage.process.processorNanoseconds) / 1e9
        if let text = LatchkeyContention.Fingerprint.line("/proc/stat") {
            reading.read(stat: text, ticksPerSecond: Double(sysconf(Int32(_SC_CLK_TCK))))
        }
        reading.throttledSeconds = ControlGroup().throttledSeconds
        reading.loadAverage = LatchkeyContention.Fingerprint.loadAverage
        return reading
    }

    /// The line `cpu` of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal.
    mutating func read(stat text: String, ticksPerSecond: Double) {
        guard let line = text.split(separator: "\n").first, line.hasPrefix("cpu ") else { return }
        let ticks = line.split(separator: " ").dropFirst().compactMap { Double($0) }
        guard ticks.count >= 8, ticksPerSecond > 0 else { return }
        busySeconds = (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]) / ticksPerSecond
        stealSeconds = ticks[7] / ticksPerSecond
    }
}

/// Watches the machine during a run and says whether its figures can be ranked.
struct ConditionsWatch {
    /// How many processors other processes may keep busy in the mean.
    ///
    /// What a quiet machine does by itself is below; a build or a browser is above.
    static let foreignProcessorsMax = 0.15
    /// The share of the processors' time that other guests may take.
    static let stealRatioMax = 0.02
    /// The share of the run for which the control group may keep the process from running.
    static let throttledRatioMax = 0.01

    private let before = MachineReading.now()

    func conditions(
        isForced: Bool,
        isDebug: Bool,
        processors: Int
    ) -> ComparisonReport.Conditions {
        Self.conditions(
            from: before,
            to: MachineReading.now(),
            isForced: isForced,
            isDebug: isDebug,
            processors: processors
        )
    }

    /// Judges what was between two readings.
    static func conditions(
        from before: MachineReading,
        to after: MachineReading,
        isForced: Bool,
        isDebug: Bool,
        processors: Int
    ) -> ComparisonReport.Conditions {
        let seconds = max(1e-3, Double(after.nanoseconds - before.nanoseconds) / 1e9)
        func grown(_ figure: (MachineReading) -> Double?) -> Double? {
            guard let from = figure(before), let to = figure(after) else { return nil }
            return max(0, to - from)
        }
        let own = after.ownSeconds - before.ownSeconds
        let foreign = grown(\.busySeconds).map { max(0, $0 - own) / seconds }
        let steal = grown(\.stealSeconds).map { $0 / (seconds * Double(processors)) }
        let throttled = grown(\.throttledSeconds)
        var findings: [String] = []
        if isDebug {
            findings.append("This is a debug build, whose figures say nothing about a release.")
        }
        if let foreign {
            if foreign > foreignProcessorsMax {
                findings.append(
                    "Other processes kept \(fixed(foreign, beyond: foreignProcessorsMax)) "
                        + "processors busy; "
                        + "at most \(foreignProcessorsMax) is allowed."
                )
            }
        } else {
            findings.append(
                "How busy other processes kept the processors is not known: /proc/stat is missing."
            )
        }
        if let steal, steal > stealRatioMax {
            findings.append(
                "The hypervisor took "
                    + fixed(100 * steal, beyond: 100 * stealRatioMax, digits: 1)
                    + " % of the processors' time; at most \(percent(stealRatioMax)) is allowed."
            )
        }
        let throttledMax = throttledRatioMax * seconds
        if let throttled, throttled > throttledMax {
            findings.append(
                "The control group kept this process from running for "
                    + "\(fixed(throttled, beyond: throttledMax)) s of "
                    + "\(FigureText.fixed(seconds, 2)) s; "
                    + "at most \(percent(throttledRatioMax)) is allowed."
            )
        }
        return ComparisonReport.Conditions(
            ranking: findings.isEmpty ? .allowed : isForced ? .forced : .refused,
            findings: findings,
            loadAverageBefore: before.loadAverage,
            loadAverageAfter: after.loadAverage,
            foreignProcessors: foreign,
            stealRatio: steal,
            throttledSeconds: throttled
        )
    }

    /// A figure with so many digits, or as many more as tell it from the bound.
    private static func fixed(_ value: Double, beyond bound: Double, digits: Int = 2) -> String {
        let isTold = FigureText.fixed(value, digits) != FigureText.fixed(bound, digits)
        guard isTold || digits == digitsMax else {
            return fixed(value, beyond: bound, digits: digits + 1)
        }
        return FigureText.fixed(value, digits)
    }

    /// What a `Double` has.
    private static let digitsMax = 17

    private static func percent(_ share: Double) -> String {
        FigureText.fixed(100 * share, 1) + " %"
    }
}
