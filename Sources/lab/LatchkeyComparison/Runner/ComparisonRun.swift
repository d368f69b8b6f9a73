internal import CLatchkeySystem
internal import Foundation
package import LatchkeyMachine
internal import LatchkeyStrategies

/// A run of `latchkey compare`.
///
/// The repeats of all cases are interleaved in rotated order, whichever method measures them:
/// ``MemoryComparison`` or ``HTTPComparison``. When all are done, each strategy is checked in this
/// process, on workloads made for that; those checks are not in the figures. A strategy that the
/// program has registered is checked first, and if it fails, nothing is measured.
package struct ComparisonRun: Sendable {
    package let settings: ComparisonSettings
    let version: String
    let schedule: Schedule
    let catalogue: Catalogue
    private let executable: String
    private let trace: ReplayedTrace?
    private let probe: CacheLineProbe

    /// The result of a run, and the failure that ended it early, if one did.
    package struct Outcome: Sendable {
        package var report: ComparisonReport
        package var failure: ComparisonError?
    }

    /// - Parameters:
    ///   - settings: The settings of the run.
    ///   - version: Latchkey's version.
    ///   - executable: The program whose `serve` is started, over HTTP.
    ///   - catalogue: The additions of the program.
    ///   - trace: The trace to replay, which the settings describe.
    ///   - probe: Reads how far apart the processors are.
    /// - Throws: A sentence about the first setting that makes no sense.
    package init(
        _ settings: ComparisonSettings,
        version: String,
        executable: String = "",
        catalogue: Catalogue = Catalogue(),
        trace: ReplayedTrace? = nil,
        probe: CacheLineProbe = CacheLineProbe()
    ) throws(ComparisonError) {
        var settings = settings
        settings.workload = catalogue.workload?.name
        settings.program = catalogue.program
        try catalogue.validate()
        try settings.validate(catalogue)
        self.trace = trace
        self.probe = probe
        self.settings = settings
        self.catalogue = catalogue
        self.version = version
        self.executable = executable
        schedule = Schedule(settings, catalogue)
    }

    /// The cases, without the baselines.
    package var plannedCases:
        [(strategy: String, threads: Int, workload: ComparisonReport.Workload)]
    {
        schedule.cases.filter { !$0.isBaseline }.map {
            ($0.subject.name, $0.threads, $0.workload)
        }
    }

    /// Measures, checks, and returns the result.
    ///
    /// Blocks until the run has ended. Not for use in a task. Processes of the run end with the
    /// calling thread, whatever ends it.
    ///
    /// - Parameters:
    ///   - isInterrupted: Asked every few dozen milliseconds. Once it returns true, the current
    ///     repeat is discarded, and the report has the repeats that were finished before.
    ///   - whenReady: Called once, when the run has everything that it needs and nothing is
    ///     measured yet. Its time does not count as the run's.
    ///   - undecided: Called once with the measured report. Returns the strategies about which more
    ///     rounds can decide, and the one that they are compared with. The same number of rounds is
    ///     taken again of these.
    ///   - progress: Called on the calling thread, at the start and whenever a repeat is done.
    /// - Returns: The report, without a recommendation; with the failure, if something failed after
    ///   a case was measured.
    /// - Throws: A sentence if something failed before a case was measured.
    package func run(
        isInterrupted: @escaping @Sendable () -> Bool = { false },
        whenReady: () -> Void = {},
        undecided: (ComparisonReport) -> [String] = { _ in [] },
        progress: @escaping (ComparisonProgress) -> Void = { _ in }
    ) throws(ComparisonError) -> Outcome {
        let method = try method(isInterrupted)
        whenReady()
        var course = Course(self, method, isInterrupted, progress)
        defer { course.method.end() }
        let startedAt = Date()
        let before = MachineReading.now()
        course.begin("calibrating")
        var fingerprint = ComparisonReport.Fingerprint(
            version: version,
            mutex: ComparisonReport.MutexObservation.observe()
        )
        fingerprint.cacheLine = ComparisonReport.CacheLine(probe)
        for (index, label) in course.method.preparations.enumerated() where !isInterrupted() {
            course.begin(label)
            do throws(MeasurementFailure) {
                try course.method.prepare(index)
            } catch {
                guard case .failed(let failure) = error else { break }
                throw failure
            }
            course.clock.finish(course.method.preparationSeconds)
        }
        // A program's own strategy is checked first: on a program's own value, a wrong strategy
        // could break more than figures.
        check(settings.strategies.filter { catalogue.strategy($0) != nil }, &course)
        let isSound = !course.measured.verdicts.contains { $0.outcome == .failed }
        if isSound { measure(&course) }
        if let failure = course.measured.failure, course.measured.repeats.allSatisfy(\.isEmpty) {
            throw failure
        }
        func report(_ method: any ComparisonMethod) -> ComparisonReport {
            self.report(
                course.measured,
                by: method,
                startedAt: startedAt,
                from: before,
                fingerprint: fingerprint
            )
        }
        if isSound, course.isMeasured, course.method.hasRounds {
            lookAgain(at: undecided(report(course.method)), &course)
        }
        course.method.end()
        if course.measured.stuckCase == nil && isSound {
            check(settings.strategies.filter { catalogue.strategy($0) == nil }, &course)
        }
        course.begin("done")
        let clock = course.clock
        course.measured.isInterrupted = isSound && clock.finishedCount < clock.totalCount
        course.measured.elapsedSeconds = clock.elapsedSeconds
        return Outcome(report: report(course.method), failure: course.measured.failure)
    }

    /// Takes all repeats, and the rounds after each of them.
    private func measure(_ course: inout Course) {
        for repeatIndex in 0..<schedule.repeats {
            for caseIndex in schedule.order(ofRepeat: repeatIndex) {
                guard !course.isInterrupted() else { return }
                let planned = schedule.cases[caseIndex]
                course.begin(planned.label)
                do throws(MeasurementFailure) {
                    let found = try course.method.measure(planned, repeatIndex: repeatIndex)
                    course.measured.repeats[caseIndex].append(found)
                    course.measured.lineReadings += found.lineNanoseconds ?? []
                } catch {
                    course.measured.note(error, planned)
                    return
                }
                course.clock.finish(course.method.repeatSeconds)
            }
            guard measureRounds(ofRepeat: repeatIndex, &course) else { return }
        }
    }

    /// Checks the strategies until one of them hangs.
    private func check(_ names: [StrategyName], _ course: inout Course) {
        for name in names where !course.isInterrupted() {
            course.begin("checking \(name.rawValue)")
            let found = catalogue.verdicts(name, isInterrupted: course.isInterrupted)
            guard !found.isEmpty else { break }
            course.measured.verdicts += found
            course.clock.finish(StrategyVerdicts.estimatedSeconds)
        }
    }

    /// A run in progress.
    struct Course {
        var method: any ComparisonMethod
        var measured: Measured
        var clock: ProgressClock
        let isInterrupted: @Sendable () -> Bool
        private let progress: (ComparisonProgress) -> Void

        init(
            _ run: ComparisonRun,
            _ method: any ComparisonMethod,
            _ isInterrupted: @escaping @Sendable () -> Bool,
            _ progress: @escaping (ComparisonProgress) -> Void
        ) {
            self.method = method
            self.isInterrupted = isInterrupted
            self.progress = progress
            measured = Measured(repeats: run.schedule.cases.map { _ in [] })
            clock = ProgressClock(steps: [
                (method.preparations.count, method.preparationSeconds),
                (run.schedule.cases.count * run.settings.repeats, method.repeatSeconds),
                (method.hasRounds ? run.roundCount : 0, run.roundSeconds(method)),
                (run.settings.strategies.count, StrategyVerdicts.estimatedSeconds),
            ])
        }

        /// Whether all repeats were taken, with their rounds.
        var isMeasured: Bool {
            !isInterrupted() && measured.stuckCase == nil && measured.failure == nil
        }

        /// Says what comes next.
        func begin(_ label: String) { progress(clock.progress(label)) }
    }

    private func method(
        _ isInterrupted: @escaping @Sendable () -> Bool
    ) throws(ComparisonError) -> any ComparisonMethod {
        switch settings.transport {
        case .memory:
            MemoryComparison(
                settings,
                schedule,
                catalogue,
                trace: trace,
                probe: probe,
                isInterrupted: isInterrupted
            )
        case .http:
            try HTTPComparison(
                settings,
                schedule,
                executable: executable,
                probe: probe,
                isInterrupted: isInterrupted
            )
        }
    }

    /// The results of a run so far.
    struct Measured {
        /// For each case of the schedule.
        var repeats: [[ComparisonReport.Repeat]]
        /// The short slices of each case of the schedule that has some, by its index.
        var shortSlices: [Int: [SliceResult]] = [:]
        /// Readings of the cache line, in the order in which they were taken.
        var lineReadings: [Double] = []
        /// The results of the checks.
        var verdicts: [ComparisonReport.Verdict] = []
        /// The case whose threads did not stop, which ends the run.
        var stuckCase: PlannedCase?
        var failure: ComparisonError?
        var isInterrupted = false
        var elapsedSeconds = 0.0

        mutating func note(_ error: MeasurementFailure, _ planned: PlannedCase) {
            switch error {
            case .interrupted: break
            case .stuck: stuckCase = planned
            case .failed(let cause):
                failure = ComparisonError(
                    "While \(planned.label) was measured: \(cause.message)"
                )
            }
        }
    }
}

/// Estimates the time that a run still takes.
struct ProgressClock {
    let totalCount: Int
    /// As planned.
    private let totalSeconds: Double
    private let startedAt = latchkey_system_nanoseconds()
    private(set) var finishedCount = 0
    private var finishedSeconds = 0.0

    /// - Parameter steps: How many steps of each kind there are, and how long one takes.
    init(steps: [(count: Int, seconds: Double)]) {
        totalCount = steps.reduce(0) { $0 + $1.count }
        totalSeconds = steps.reduce(0) { $0 + Double($1.count) * $1.seconds }
    }

    var elapsedSeconds: Double {
        Double(latchkey_system_nanoseconds() - startedAt) / 1e9
    }

    mutating func finish(_ plannedSeconds: Double) {
        finishedCount += 1
        finishedSeconds += plannedSeconds
    }

    /// The estimate is the plan at first, and depends more and more on the time needed so far.
    func progress(_ current: String) -> ComparisonProgress {
        let elapsed = elapsedSeconds
        let done = finishedSeconds / totalSeconds
        let planned = totalSeconds * (1 - done)
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
