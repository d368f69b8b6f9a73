import LatchkeyContention
import LatchkeySync

/// The measuring part of a run: slices, and what they found so far.
struct Measurement {
    let settings: ComparisonSettings
    let schedule: Schedule
    let work: Work
    let calibration: WorkCalibration
    let isInterrupted: @Sendable () -> Bool

    /// The keys of each workload, which to draw anew for every slice would take longer than the
    /// slice.
    private let keys: [ComparisonReport.Workload: KeyDistribution]
    private let counter: SystemCallCounter?
    /// Why system calls are not counted.
    let systemCallsMissing: String?

    /// What was measured of each case of the schedule.
    private(set) var repeats: [[ComparisonReport.Repeat]]
    /// For each case: metered throughput over the throughput without, a value for each repeat.
    private(set) var meteredRatios: [[Double]]
    /// Keys with a wrong value, and operations, by strategy or baseline.
    private var wrongKeys: [CaseSubject: Int] = [:]
    private var checkedCounts: [CaseSubject: Int] = [:]
    /// The case whose threads did not leave, which ends the run.
    private(set) var stuckCase: PlannedCase?

    var isStuck: Bool { stuckCase != nil }

    init(
        settings: ComparisonSettings,
        schedule: Schedule,
        work: Work,
        calibration: WorkCalibration,
        isInterrupted: @escaping @Sendable () -> Bool
    ) {
        self.settings = settings
        self.schedule = schedule
        self.work = work
        self.calibration = calibration
        self.isInterrupted = isInterrupted
        keys = Dictionary(
            schedule.workloads.map {
                ($0, KeyDistribution(count: $0.keys, skew: $0.skew))
            },
            uniquingKeysWith: { one, _ in one }
        )
        repeats = schedule.cases.map { _ in [] }
        meteredRatios = schedule.cases.map { _ in [] }
        do throws(SystemCallsMissing) {
            counter = try SystemCallCounter()
            systemCallsMissing = nil
        } catch {
            counter = nil
            systemCallsMissing = error.reason
        }
    }

    /// Takes one repeat of a case.
    ///
    /// Nothing is kept of one that was interrupted.
    mutating func measure(_ caseIndex: Int, repeatIndex: Int) {
        let planned = schedule.cases[caseIndex]
        do throws(SliceFailure) {
            let bare = try slice(planned, repeatIndex, isMetered: false)
            var found = ComparisonReport.Repeat(
                bare.result,
                index: repeatIndex,
                isPaced: planned.workload.arrival != .closed
            )
            if found.operations == 0 { found.seconds = settings.durationSeconds }
            note(bare, planned)
            if case .strategy = planned.subject {
                let metered = try slice(planned, repeatIndex, isMetered: true)
                note(metered, planned)
                found.add(metered)
                let ratio = metered.result.operationsPerSecond / found.operationsPerSecond
                if ratio.isFinite {
                    meteredRatios[caseIndex].append(ratio)
                }
            }
            repeats[caseIndex].append(found)
        } catch {
            switch error {
            case .interrupted: break
            case .stuck: stuckCase = planned
            }
        }
    }

    mutating func note(_ output: CaseSlice.Output, _ planned: PlannedCase) {
        wrongKeys[planned.subject, default: 0] += output.wrongKeys
        checkedCounts[planned.subject, default: 0] += output.result.tallies.reduce(0) {
            $0 + $1.operationsInAll
        }
    }

    /// What the final values of the baselines say, a sentence for each that is wrong.
    ///
    /// They are right if anything is, so it is the runner or the machine that cannot be trusted.
    var baselineFindings: [String] {
        ComparisonReport.Baseline.allCases.compactMap { baseline in
            guard let wrong = wrongKeys[.baseline(baseline)], wrong > 0 else { return nil }
            return """
                The baseline \(baseline.rawValue) lost updates: the final value of \(wrong) keys \
                is not what the writes to it lead to.
                """
        }
    }

    /// What the final values of all slices say about each strategy.
    func countVerdicts() -> [ComparisonReport.Verdict] {
        settings.strategies.compactMap { kind in
            guard let checked = checkedCounts[.strategy(kind)] else { return nil }
            let wrong = wrongKeys[.strategy(kind)] ?? 0
            return ComparisonReport.Verdict(
                strategy: kind.rawValue,
                check: .counts,
                outcome: wrong == 0 ? .passed : .failed,
                checkedCount: checked,
                finding: wrong == 0
                    ? nil
                    : """
                    The final value of \(wrong) keys is not what the writes to it lead to: \
                    updates were lost.
                    """
            )
        }
    }

    private func slice(
        _ planned: PlannedCase,
        _ repeatIndex: Int,
        isMetered: Bool
    ) throws(SliceFailure) -> CaseSlice.Output {
        let workload = planned.workload
        let slice = slice(planned, repeatIndex: repeatIndex, isMetered: isMetered)
        switch planned.subject {
        case .strategy(let kind):
            return try kind.accept(
                CaseSlice(slice: slice, workload: workload, isMetered: isMetered)
            )
        case .baseline(.unsynchronized):
            return try slice.unsynchronized(workload)
        case .baseline(.pthreadMutex):
            return try slice.pthreadMutex()
        }
    }

    func cost(_ planned: PlannedCase) -> OperationCost {
        let workload = planned.workload
        let outside = workload.outside.nanoseconds(threads: planned.threads)
        return OperationCost(
            work: work,
            // At least one step, so that every write leaves a trace to be checked.
            sectionSteps: max(1, calibration.steps(nanoseconds: workload.sectionNanoseconds)),
            outsideSteps: calibration.steps(nanoseconds: outside)
        )
    }

    private func slice(_ planned: PlannedCase, repeatIndex: Int, isMetered: Bool) -> Slice {
        let workload = planned.workload
        let measured = settings.durationSeconds * (isMetered ? ComparisonRun.meteredShare : 1)
        let warmUp = settings.durationSeconds * ComparisonRun.warmUpShare
        var interval: Double?
        if case .open(let rate) = workload.arrival {
            interval = 1e9 * Double(planned.threads) / rate
        }
        var random = SeededRandom(seed: settings.seed &+ UInt64(repeatIndex))
        let keys =
            keys[workload] ?? KeyDistribution(count: workload.keys, skew: workload.skew)
        return Slice(
            plans: (0..<planned.threads).map { _ in
                OperationPlan(workload, keys: keys, seed: random.next())
            },
            cost: cost(planned),
            interval: interval,
            durations: SliceDurations(
                warmUpNanoseconds: UInt64(warmUp * 1e9),
                measuredNanoseconds: UInt64(measured * 1e9)
            ),
            counter: isMetered && !planned.usesPool ? counter : nil,
            usesPool: planned.usesPool,
            isInterrupted: isInterrupted
        )
    }
}

extension PlannedCase {
    /// Whether operations run on other threads than those that ask for them.
    var usesPool: Bool {
        guard case .strategy(let kind) = subject else { return false }
        return kind.traits.appliesWritesAsynchronously
    }
}

extension ComparisonReport.Workload {
    /// How many of the keys are in a stripe.
    func keyCount(stripe: Int) -> Int {
        (keys - stripe + stripes - 1) / stripes
    }
}

extension ComparisonReport.Repeat {
    /// What a slice found.
    ///
    /// In an open loop the threads poll for the time at which an operation is due, which would be
    /// most of their processor time: it is left out.
    init(_ result: SliceResult, index: Int, isPaced: Bool) {
        let rate = result.operationsPerSecond
        let responses = result.tallies.compactMap(\.responses)
        let fromIntended = result.tallies.compactMap(\.responsesFromIntended)
        let refused = result.tallies.reduce(0) { $0 + $1.refused }
        self.init(
            index: index,
            operations: result.operations,
            seconds: rate > 0 ? Double(result.operations) / rate : 0,
            operationsPerThread: result.tallies.map(\.operations),
            response: ResponseTimes.durations(responses),
            responseFromIntendedStart: ResponseTimes.durations(
                fromIntended,
                unbegun: result.tallies.compactMap(\.unbegun)
            ),
            cpuSeconds: isPaced ? nil : Double(result.usage.processorNanoseconds) / 1e9,
            voluntarySwitches: isPaced ? nil : Int(result.usage.voluntarySwitches),
            involuntarySwitches: isPaced ? nil : Int(result.usage.involuntarySwitches),
            minorFaults: Int(result.usage.minorFaults),
            majorFaults: Int(result.usage.majorFaults),
            refused: refused > 0 ? refused : nil
        )
    }

    /// Adds what the metered slice of the same repeat found.
    mutating func add(_ metered: CaseSlice.Output) {
        let tallies = metered.result.tallies
        func sum(_ count: (WorkerTally) -> Int?) -> Int? {
            let counts = tallies.compactMap(count)
            return counts.count == tallies.count ? counts.reduce(0, +) : nil
        }
        meteredOperations = metered.result.operations
        futexCalls = sum(\.futexCalls)
        systemCalls = sum(\.systemCalls)
        guard let row = metered.contention else { return }
        wait = row.wait.all.map(ComparisonReport.Durations.init)
        hold = row.hold.all.map(ComparisonReport.Durations.init)
        // Left out where it is an estimate: it comes from a look at who is inside, and a lock that
        // is handed over while the next owner still sleeps has nobody inside most of the time.
        contended = row.contendedIsExact ? Int(row.contended.all) : nil
        handOffs = Int(row.handOffs)
    }
}
