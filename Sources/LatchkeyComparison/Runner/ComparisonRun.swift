import CLatchkeySystem
import Foundation
import LatchkeySync

/// A run of `latchkey compare --transport memory`.
///
/// Every repeat of a case is two slices: one without any meter, for the throughput, the processor
/// time and the fairness; and a shorter one, metered, for waits, holds, contention and hand-offs.
/// The ratio of the two is what metering costs. The repeats of all cases are interleaved in rotated
/// order. When all are done, each strategy is checked on workloads of its own; those checks are not
/// in the figures, and the final counts of every slice are.
package struct ComparisonRun: Sendable {
    private let settings: ComparisonSettings
    private let version: String
    private let schedule: Schedule
    private let work: Work

    /// The part of a repeat's duration for which it warms up first.
    static let warmUpShare = 0.1
    /// The part of a repeat's duration for which it is metered afterwards.
    static let meteredShare = 0.3

    /// - Throws: A sentence about the first setting that makes no sense.
    package init(_ settings: ComparisonSettings, version: String) throws(ComparisonSettingsError) {
        try settings.validate()
        self.settings = settings
        self.version = version
        schedule = Schedule(settings)
        work = Work(seed: settings.seed)
    }

    /// Measures, checks, and returns what was found.
    ///
    /// Blocks for about ``estimatedSeconds``. Not for use in a task.
    ///
    /// - Parameters:
    ///   - isInterrupted: Asked every few milliseconds, on the calling thread. Once it says true,
    ///     the slice that runs is thrown away and the report has what was finished before.
    ///   - progress: Called on the calling thread, at the start and whenever a repeat is done.
    /// - Returns: The report. Of an interrupted run it has what was finished.
    package func run(
        isInterrupted: @escaping @Sendable () -> Bool = { false },
        progress: (ComparisonProgress) -> Void = { _ in }
    ) -> ComparisonReport {
        var clock = ProgressClock(
            totalCount: schedule.cases.count * settings.repeats + settings.strategies.count,
            estimatedSeconds: estimatedSeconds
        )
        progress(clock.progress("calibrating"))
        let startedAt = Date()
        let conditions = ConditionsWatch()
        let mutex = ComparisonReport.MutexObservation.observe()
        let calibration = WorkCalibration.measure(work)
        var measurement = Measurement(
            settings: settings,
            schedule: schedule,
            work: work,
            calibration: calibration,
            isInterrupted: isInterrupted
        )
        for (repeatIndex, caseIndex) in order {
            guard !isInterrupted(), !measurement.isStuck else { break }
            progress(clock.progress(schedule.cases[caseIndex].label))
            measurement.measure(caseIndex, repeatIndex: repeatIndex)
            clock.finishedCount += 1
        }
        var verdicts = measurement.countVerdicts()
        for kind in settings.strategies where !isInterrupted() && !measurement.isStuck {
            progress(clock.progress("checking \(kind.rawValue)"))
            let found = StrategyVerdicts.check(
                kind,
                seed: settings.seed,
                isInterrupted: isInterrupted
            )
            guard !found.isEmpty else { break }
            verdicts += found
            clock.finishedCount += 1
        }
        progress(clock.progress("done"))
        return ReportBuilder(
            settings: settings,
            schedule: schedule,
            measurement: measurement,
            verdicts: verdicts,
            startedAt: startedAt,
            elapsedSeconds: clock.elapsedSeconds,
            isInterrupted: clock.finishedCount < clock.totalCount
        ).report(
            fingerprint: ComparisonReport.Fingerprint(version: version, mutex: mutex),
            conditions: conditions
        )
    }

    private var order: [(repeatIndex: Int, caseIndex: Int)] {
        (0..<settings.repeats).flatMap { index in
            schedule.order(ofRepeat: index).map { (index, $0) }
        }
    }

    /// How long the run takes, as far as that is known beforehand.
    package var estimatedSeconds: Double {
        let shares = 1 + Self.meteredShare + 2 * Self.warmUpShare
        let repeats = Double(schedule.cases.count * settings.repeats)
        let checks = Double(settings.strategies.count) * StrategyVerdicts.estimatedSeconds
        return repeats * settings.durationSeconds * shares * 1.05 + checks
    }
}

/// What is known about the time that a run still takes.
private struct ProgressClock {
    let totalCount: Int
    let estimatedSeconds: Double
    let startedAt = latchkey_system_nanoseconds()
    var finishedCount = 0

    var elapsedSeconds: Double {
        Double(latchkey_system_nanoseconds() - startedAt) / 1e9
    }

    /// The estimate is the plan at first, and what was needed so far more and more.
    func progress(_ current: String) -> ComparisonProgress {
        let elapsed = elapsedSeconds
        let done = Double(finishedCount) / Double(max(1, totalCount))
        let planned = estimatedSeconds * (1 - done)
        let measured = done > 0 ? elapsed / done * (1 - done) : planned
        return ComparisonProgress(
            finishedCount: finishedCount,
            totalCount: totalCount,
            elapsedSeconds: elapsed,
            remainingSeconds: finishedCount == totalCount
                ? 0 : max(0, planned * (1 - done) + measured * done),
            current: current
        )
    }
}
