internal import Glibc
package import LatchkeyMachine
internal import LatchkeyVerdict

/// Waiting until other processes leave the processors alone, before a run.
///
/// The load is read again and again over windows of half a second. The first quiet window ends the
/// wait, and so does its time limit: a busy machine can still be measured, and the report then
/// claims less.
package enum QuietMachine {
    /// The use by other processes within a window.
    package struct Load: Sendable {
        package var processors: Double
        package var busiest: ProcessTimes.Entry?
        package var seconds: Double
    }

    package static let secondsMax = 30.0
    static let windowSeconds = 0.5

    /// Waits for a quiet window, and says what it waits for.
    ///
    /// - Parameters:
    ///   - isInterrupted: Asked after each window.
    ///   - load: Takes a window and returns the load in it; `nil` if the kernel does not say.
    ///   - say: Called with a sentence when the wait begins, and when it ends.
    package static func wait(
        isInterrupted: () -> Bool,
        load: () -> Load? = Self.load,
        say: (String) -> Void
    ) {
        var hasWaited = false
        let windows = Int(secondsMax / windowSeconds)
        for _ in 0..<windows {
            guard !isInterrupted(), let load = load() else { return }
            if load.processors <= ComparisonReport.Conditions.foreignProcessorsMax {
                if hasWaited { say("The machine is quiet now.") }
                return
            }
            if !hasWaited {
                say(
                    "Other processes keep \(FigureText.fixed(load.processors, 2)) processors "
                        + "busy\(busiest(load)). Waiting up to \(Int(secondsMax)) s for a quiet "
                        + "machine; --force begins at once."
                )
            }
            hasWaited = true
        }
        say("The machine is still busy. The run begins, and its intervals will be wider.")
    }

    private static func busiest(_ load: Load) -> String {
        guard let process = load.busiest, load.seconds > 0 else { return "" }
        return ", most of all '\(process.name)' (process \(process.number), "
            + "\(FigureText.fixed(process.seconds / load.seconds, 2)))"
    }

    /// The load of the next window.
    package static func load() -> Load? {
        let (times, before) = (ProcessTimes.now(), MachineReading.now())
        guard before.busySeconds != nil else { return nil }
        // A signal ends the sleep, which is right: it interrupts the run.
        usleep(UInt32(windowSeconds * 1e6))
        let after = MachineReading.now()
        guard let from = before.busySeconds, let to = after.busySeconds else { return nil }
        let seconds = max(1e-3, Double(after.nanoseconds - before.nanoseconds) / 1e9)
        let own = after.ownSeconds - before.ownSeconds
        return Load(
            processors: max(0, to - from - own) / seconds,
            busiest: ProcessTimes.now().busiest(since: times),
            seconds: seconds
        )
    }
}
