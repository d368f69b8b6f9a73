internal import LatchkeyVerdict

extension ComparisonRun {
    /// Runs that take longer are announced.
    private static let announcedSeconds = 300.0

    /// How long a long run takes, and why, in a few sentences; `nil` for a shorter run.
    package func announcement(seconds: Double) -> String? {
        guard seconds > Self.announcedSeconds else { return nil }
        let hasRounds = settings.transport == .memory && settings.arrival == .closed
        let parts = ["warm-up", "metering"] + (hasRounds ? ["rounds of short slices"] : [])
        let strategies = FigureText.counted(settings.strategies.count, "strategy")
        let noun = settings.transport == .http ? "number of connections" : "number of threads"
        let sizes =
            settings.threads.count == 1
            ? "1 \(noun)" : "\(settings.threads.count) numbers" + noun.dropFirst("number".count)
        return "the run takes about \(FigureText.waitingTime(seconds: seconds)): "
            + "\(schedule.cases.count) cases × \(settings.repeats) repeats × "
            + "\(FigureText.given(seconds: settings.durationSeconds)), "
            + "\(parts.joined(separator: ", ")) and checks included. The cases are all "
            + "combinations of \(strategies) and the baselines, \(sizes) and "
            + "\(FigureText.counted(schedule.workloads.count, "workload")). Give fewer values, "
            + "--repeats or a shorter --duration; Ctrl-C ends the run early and prints what is "
            + "finished."
    }
}
