internal import LatchkeyCommandLine
internal import LatchkeyComparison
internal import LatchkeyOperations
internal import LatchkeyReport

/// The comparison that an operation of the service asks for.
///
/// It runs in the process that serves, so the figures are of a busy machine, and the report says
/// so. It asks every few milliseconds whether to stop.
enum ComparisonStep {
    @Sendable static func run(
        _ request: ComparisonRequest,
        isCancelled: @escaping @Sendable () -> Bool,
        progress: @escaping @Sendable (Double) -> Void
    ) -> Result<[UInt8], ComparisonFailure> {
        var settings = ComparisonSettings()
        let chosen = request.strategies.map { StrategyName(rawValue: $0) }
            .filter { $0.kind != nil }
        if !chosen.isEmpty { settings.strategies = chosen }
        settings.threads = [request.threads]
        settings.durationSeconds = request.seconds / Double(settings.repeats)
        settings.isForced = true
        do {
            try settings.validate()
            var report = try ComparisonRun(settings, version: latchkeyVersion, executable: "").run(
                isInterrupted: isCancelled,
                progress: { progress(Double($0.finishedCount) / Double(max(1, $0.totalCount))) }
            ).report
            report.conclude(isForced: true)
            return .success(try report.json())
        } catch {
            return .failure(ComparisonFailure("\(error)"))
        }
    }
}
