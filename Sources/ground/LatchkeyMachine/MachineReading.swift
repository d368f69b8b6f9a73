internal import CLatchkeySystem
internal import Glibc

/// The kernel's counters of the whole machine at one moment.
package struct MachineReading: Sendable, Equatable {
    package var nanoseconds: UInt64 = 0
    /// Time of all processors together, in seconds: spent on any process, and given to other guests
    /// by the hypervisor.
    ///
    /// `nil` where the kernel does not say.
    package var busySeconds: Double?
    package var stealSeconds: Double?
    /// Time that this process and its children that have ended used, in seconds.
    package var ownSeconds = 0.0
    /// For how long the control groups kept their members from running, in seconds.
    package var throttledSeconds: Double?
    package var loadAverage: [Double] = []

    /// The unit of times in `/proc`.
    static let ticksPerSecond = Double(sysconf(Int32(_SC_CLK_TCK)))

    package init() {}

    package static func now() -> MachineReading {
        var reading = MachineReading()
        reading.nanoseconds = latchkey_system_nanoseconds()
        reading.ownSeconds = Double((Usage.process + Usage.children).processorNanoseconds) / 1e9
        if let text = SystemFile.line("/proc/stat") {
            reading.read(stat: text, ticksPerSecond: ticksPerSecond)
        }
        reading.throttledSeconds = ControlGroup().throttledSeconds
        reading.loadAverage = Fingerprint.loadAverage
        return reading
    }

    /// The line `cpu` of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal.
    package mutating func read(stat text: String, ticksPerSecond: Double) {
        guard let line = text.split(separator: "\n").first, line.hasPrefix("cpu ") else { return }
        let ticks = line.split(separator: " ").dropFirst().compactMap { Double($0) }
        guard ticks.count >= 8, ticksPerSecond > 0 else { return }
        busySeconds = (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]) / ticksPerSecond
        stealSeconds = ticks[7] / ticksPerSecond
    }
}
