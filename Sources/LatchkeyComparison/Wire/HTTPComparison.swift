internal import CLatchkeySystem
internal import Foundation
internal import Glibc
internal import LatchkeyContention
internal import LatchkeySync

/// A run of `latchkey compare --transport http`.
///
/// The service is started once for each strategy, number of stripes and thread mode; all of them
/// stay up, idle, while `wrk` drives one after the other, so that repeats are interleaved as they
/// are in process. What `wrk` saw (throughput, response times) and what the service saw (wait,
/// hold, contention, hand-offs, processor time) make one repeat. The load generator and the service
/// share the processors. When all is measured, each strategy is checked in this process, as after a
/// run in memory: the services' own values are not.
package struct HTTPComparison {
    /// The first load on a service is thrown away.
    static let warmUpSeconds = 1
    /// More properties than this take longer to make than to measure.
    package static let keysMax = 10_000
    package static let connectionsMax = 256

    /// What a run found, and what ended it early if it was not an interrupt.
    package struct Outcome {
        package var report: ComparisonReport
        package var failure: WireError?
    }

    /// What a reader of the figures has to know.
    package static let method = """
        Over HTTP the response is as wrk corrects it for requests that it could not send; what was \
        refused is in it. One thread of wrk shares the processors with the service, which samples \
        its contention all the while. The checks ran in this process.
        """

    private let settings: ComparisonSettings
    private let version: String
    private let executable: String
    private let schedule: WireSchedule

    /// - Parameters:
    ///   - settings: what to compare.
    ///   - version: Latchkey's version.
    ///   - executable: the program whose `serve` is started.
    /// - Throws: A sentence about the first setting that has no meaning over HTTP.
    package init(
        _ settings: ComparisonSettings,
        version: String,
        executable: String
    ) throws(WireError) {
        guard settings.arrival == .closed else {
            throw WireError("--arrival has no meaning over HTTP, since wrk has no rate.")
        }
        guard settings.durationSeconds >= 1,
            settings.durationSeconds == settings.durationSeconds.rounded()
        else {
            throw WireError("--duration takes whole seconds over HTTP, since wrk does.")
        }
        guard settings.keys.allSatisfy({ $0 <= Self.keysMax }) else {
            throw WireError("--keys takes at most \(Self.keysMax) over HTTP.")
        }
        self.settings = settings
        self.version = version
        self.executable = executable
        schedule = WireSchedule(settings)
    }

    /// Measures, checks, and returns what was found.
    ///
    /// The services and `wrk` end with the calling thread, whatever ends it.
    ///
    /// - Parameters:
    ///   - isInterrupted: asked every few dozen milliseconds. Once it says true, `wrk` and the
    ///     services end, and the report has what was finished before.
    ///   - progress: called at the start and whenever a repeat is done.
    /// - Throws: A sentence if `wrk` is missing or a service does not answer, and nothing was
    ///   measured.
    /// - Returns: the report, without a recommendation; with the failure, if a service or `wrk`
    ///   failed after something was measured.
    package func run(
        isInterrupted: @escaping @Sendable () -> Bool,
        progress: (ComparisonProgress) -> Void
    ) throws(WireError) -> Outcome {
        let load = try LoadGenerator(seed: settings.seed)
        defer { load.end() }
        let startedAt = Date()
        let before = MachineReading.now()
        let childrenBefore = Self.childrenSeconds
        var run = Run(settings, schedule, load: load, executable: executable)
        defer { run.end() }
        try run.start(isInterrupted: isInterrupted, progress: progress)
        var failure: WireError?
        do {
            try run.measure(isInterrupted: isInterrupted, progress: progress)
        } catch {
            guard !run.cases.isEmpty else { throw error }
            failure = error
        }
        run.end()
        run.check(isInterrupted: isInterrupted, progress: progress)
        var after = MachineReading.now()
        after.ownSeconds += Self.childrenSeconds - childrenBefore
        var report = report(run, startedAt: startedAt, from: before, to: after)
        if let failure { report.conditions.findings.append(failure.message) }
        return Outcome(report: report, failure: failure)
    }

    private func report(
        _ run: Run,
        startedAt: Date,
        from before: MachineReading,
        to after: MachineReading
    ) -> ComparisonReport {
        let fingerprint = ComparisonReport.Fingerprint(version: version, mutex: .observe())
        var instrument = ComparisonReport.InstrumentCost.measure(
            metered: [],
            systemCallsMissing: "They are not counted over HTTP."
        )
        instrument.meteringNanosecondsPerOperation = run.meteringNanoseconds
        instrument.samplingMean = run.samplingMean
        let isInterrupted = run.finishedCount < run.totalCount
        var conditions = ConditionsWatch.conditions(
            from: before,
            to: after,
            isForced: settings.isForced,
            isDebug: fingerprint.isDebug,
            processors: fingerprint.processorsOnline
        )
        if isInterrupted {
            conditions.findings.append(
                "The run was interrupted: some cases have fewer repeats than others."
            )
        }
        conditions.findings += run.findings
        if !conditions.findings.isEmpty {
            conditions.ranking = settings.isForced ? .forced : .refused
        }
        let all = run.cases
        let cases = all.filter { $0.strategy != ComparisonReport.httpAlone }
        let fits = cases.sweeps.compactMap {
            ComparisonReport.ScalingFit($0, seed: settings.seed)
        }
        return ComparisonReport(
            startedAt: startedAt,
            elapsedSeconds: Double(after.nanoseconds - before.nanoseconds) / 1e9,
            isInterrupted: isInterrupted,
            settings: settings,
            fingerprint: fingerprint,
            conditions: conditions,
            instrument: instrument,
            baselines: all.filter {
                $0.strategy == ComparisonReport.httpAlone
            },
            cases: cases,
            verdicts: run.verdicts,
            fits: fits,
            crossovers: Crossovers.among(cases, fits: fits)
        )
    }

    /// The processor time of all children that have ended, in seconds.
    private static var childrenSeconds: Double {
        var usage = rusage()
        guard unsafe getrusage(__rusage_who_t(RUSAGE_CHILDREN.rawValue), &usage) == 0 else {
            return 0
        }
        return [usage.ru_utime, usage.ru_stime].reduce(0) {
            $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6
        }
    }
}

/// The services of a run and what was measured on them.
private struct Run {
    let settings: ComparisonSettings
    let schedule: WireSchedule
    let load: LoadGenerator
    let executable: String
    let startNanoseconds = latchkey_system_nanoseconds()

    private var services: [WireSchedule.Service: ServiceProcess] = [:]
    private var repeats: [[ComparisonReport.Repeat]]
    private(set) var finishedCount = 0
    private(set) var meteringNanoseconds = 0.0
    private(set) var samplingMean = 0
    private var lostCounts: [String: Int] = [:]
    private(set) var verdicts: [ComparisonReport.Verdict] = []

    init(
        _ settings: ComparisonSettings,
        _ schedule: WireSchedule,
        load: LoadGenerator,
        executable: String
    ) {
        self.settings = settings
        self.schedule = schedule
        self.load = load
        self.executable = executable
        repeats = Array(repeating: [], count: schedule.cases.count)
    }

    private var repeatCount: Int { schedule.cases.count * settings.repeats }

    var totalCount: Int { schedule.services.count + repeatCount + settings.strategies.count }

    /// What the client saw that makes figures worthless, a sentence each.
    var findings: [String] {
        lostCounts.sorted { $0.key < $1.key }.map { label, count in
            "\(count) requests or connections were lost under \(label)."
        }
    }

    var cases: [ComparisonReport.Case] {
        zip(schedule.cases, repeats).compactMap { planned, repeats in
            guard !repeats.isEmpty else { return nil }
            return ComparisonReport.Case(
                strategy: planned.isBaseline
                    ? ComparisonReport.httpAlone
                    : planned.service.strategy.rawValue,
                threads: planned.connections,
                workload: planned.workload,
                repeats: repeats,
                summary: ComparisonReport.Summary(repeats, seed: settings.seed)
            )
        }
    }

    mutating func start(
        isInterrupted: () -> Bool,
        progress: (ComparisonProgress) -> Void
    ) throws(WireError) {
        for service in schedule.services where !isInterrupted() {
            progress(state("starting \(service.strategy.rawValue) (\(service.mode.rawValue))"))
            do {
                try start(service, isInterrupted: isInterrupted)
            } catch {
                if isInterrupted() { return }
                throw error
            }
            finishedCount += 1
        }
    }

    private mutating func start(
        _ service: WireSchedule.Service,
        isInterrupted: () -> Bool
    ) throws(WireError) {
        let process = try ServiceProcess(
            service,
            executable: executable,
            isInterrupted: isInterrupted
        )
        services[service] = process
        try process.prepare(keys: settings.keys.max() ?? 1, isInterrupted: isInterrupted)
        _ = try load.run(
            process,
            .nothing,
            connections: 8,
            seconds: HTTPComparison.warmUpSeconds,
            round: 0,
            isInterrupted: isInterrupted
        )
    }

    mutating func measure(
        isInterrupted: () -> Bool,
        progress: (ComparisonProgress) -> Void
    ) throws(WireError) {
        for round in 0..<settings.repeats {
            for index in schedule.order(ofRepeat: round, of: settings.repeats) {
                guard !isInterrupted() else { return }
                progress(state(schedule.cases[index].label))
                let measured: ComparisonReport.Repeat
                do {
                    measured = try measure(
                        schedule.cases[index],
                        round: round,
                        isInterrupted: isInterrupted
                    )
                } catch {
                    if isInterrupted() { return }
                    throw WireError(
                        "While \(schedule.cases[index].label) was measured: \(error.message)"
                    )
                }
                guard !isInterrupted() else { return }
                repeats[index].append(measured)
                finishedCount += 1
            }
        }
    }

    /// Checks each strategy here, once the services are gone.
    mutating func check(
        isInterrupted: @escaping @Sendable () -> Bool,
        progress: (ComparisonProgress) -> Void
    ) {
        for kind in settings.strategies where !isInterrupted() {
            progress(state("checking \(kind.rawValue)"))
            let found = StrategyVerdicts.check(
                kind,
                seed: settings.seed,
                isInterrupted: isInterrupted
            )
            // Interrupted: what was begun is not finished.
            guard !found.isEmpty else { return }
            verdicts += found
            finishedCount += 1
        }
        progress(state("done"))
    }

    private mutating func measure(
        _ planned: WireSchedule.Case,
        round: Int,
        isInterrupted: () -> Bool
    ) throws(WireError) -> ComparisonReport.Repeat {
        guard let service = services[planned.service] else {
            throw WireError("The service for \(planned.label) does not run.")
        }
        try service.resetContention()
        let processorBefore = service.processorSeconds
        let seen = try load.run(
            service,
            planned.isBaseline ? .nothing : .properties(planned.workload),
            connections: planned.connections,
            seconds: Int(settings.durationSeconds),
            round: round,
            isInterrupted: isInterrupted
        )
        let processorAfter = service.processorSeconds
        let row = try service.contention(planned.service.strategy)
        if seen.lost > 0 { lostCounts[planned.label, default: 0] += seen.lost }
        samplingMean = row.samplingMean
        meteringNanoseconds = max(meteringNanoseconds, row.overhead?.overheadNanoseconds ?? 0)
        var measured = ComparisonReport.Repeat(
            index: round,
            operations: seen.operations,
            seconds: seen.seconds,
            operationsPerThread: [],
            response: seen.response
        )
        if let processorBefore, let processorAfter {
            measured.cpuSeconds = processorAfter - processorBefore
        }
        measured.refused = seen.refused
        guard !planned.isBaseline else { return measured }
        measured.wait = row.wait.all.map { ComparisonReport.Durations($0) }
        measured.hold = row.hold.all.map { ComparisonReport.Durations($0) }
        measured.meteredOperations = Int(row.acquisitions.all)
        // Left out where it is an estimate, as it is in process.
        measured.contended = row.contendedIsExact ? Int(row.contended.all) : nil
        measured.handOffs = Int(row.handOffs)
        return measured
    }

    /// Ends all services; they drain side by side.
    func end() {
        for service in services.values {
            service.askToEnd()
        }
        for service in services.values {
            service.end()
        }
    }

    private func state(_ current: String) -> ComparisonProgress {
        let elapsed = Double(latchkey_system_nanoseconds() - startNanoseconds) / 1e9
        let each = settings.durationSeconds * 1.1
        let startsLeft = max(0, schedule.services.count - finishedCount)
        let checksLeft = min(totalCount - finishedCount, settings.strategies.count)
        let repeatsLeft = totalCount - finishedCount - startsLeft - checksLeft
        return ComparisonProgress(
            finishedCount: finishedCount,
            totalCount: totalCount,
            elapsedSeconds: elapsed,
            remainingSeconds: Double(repeatsLeft) * each + Double(startsLeft) * 1.3
                + Double(checksLeft) * StrategyVerdicts.estimatedSeconds,
            current: current
        )
    }
}

extension ComparisonSettings {
    /// What is compared over HTTP if nothing else is said.
    package mutating func useHTTPDefaults() {
        threads = [4, 32]
        durationSeconds = 1
        haveNoWork()
    }

    /// Over HTTP an operation is a request, which has no section of its own to make longer.
    package mutating func haveNoWork() {
        sectionNanoseconds = [0]
        outside = [OutsideWork(nanoseconds: 0, scalesWithThreads: false)]
    }
}
