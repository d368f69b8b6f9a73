import LatchkeyMachine
import LatchkeyStrategies
internal import LatchkeyVerdict

/// Measures cases on threads of this process.
///
/// Every repeat of a case is two slices: one without any meter, for the throughput, the processor
/// time and the fairness; and a shorter one, metered, for waits, holds, contention and hand-offs.
/// The ratio of the two is the cost of metering. The final counts of every slice are checked.
struct MemoryComparison: ComparisonMethod {
    private let settings: ComparisonSettings
    private let catalogue: Catalogue
    private let work: Work
    /// The calibration of the current repeat.
    private var calibration: WorkCalibration
    /// The step of every repeat.
    private var stepNanoseconds: [Double] = []
    private let isInterrupted: @Sendable () -> Bool
    private let trace: ReplayedTrace?
    private let probe: CacheLineProbe

    /// The keys of each workload.
    ///
    /// Drawing them for every slice would take longer than the slice.
    private let keys: [ComparisonReport.Workload: KeyDistribution]
    private let counter: SystemCallCounter?
    /// Why system calls are not counted.
    private let systemCallsMissing: String?

    /// For each case of a strategy, the throughput without a meter, and the metered one over it.
    private var metered: [PlannedCase: (operationsPerSecond: [Double], ratios: [Double])] = [:]
    /// Keys with a wrong value, and operations, by strategy or baseline.
    private var wrongCounts: [CaseSubject: Int] = [:]
    private var checkedCounts: [CaseSubject: Int] = [:]

    /// The parts of a repeat's duration for which it warms up and is measured: without the meter
    /// first, and with it afterwards, when the case has just run.
    private static let bareShares = (warmUp: 0.1, measured: 1.0)
    private static let meteredShares = (warmUp: 0.05, measured: 0.25)

    init(
        _ settings: ComparisonSettings,
        _ schedule: Schedule,
        _ catalogue: Catalogue = Catalogue(),
        trace: ReplayedTrace? = nil,
        probe: CacheLineProbe = CacheLineProbe(),
        isInterrupted: @escaping @Sendable () -> Bool = { false }
    ) {
        self.settings = settings
        self.catalogue = catalogue
        self.trace = trace
        self.probe = probe
        self.isInterrupted = isInterrupted
        work = Work(seed: settings.seed)
        calibration = WorkCalibration.measure(work)
        keys = Dictionary(
            schedule.workloads.map {
                ($0, KeyDistribution(count: $0.keys, skew: $0.skew))
            },
            uniquingKeysWith: { one, _ in one }
        )
        do throws(SystemCallsMissing) {
            counter = try SystemCallCounter()
            systemCallsMissing = nil
        } catch {
            counter = nil
            systemCallsMissing = error.reason
        }
    }

    var repeatSeconds: Double {
        let (bare, metered) = (Self.bareShares, Self.meteredShares)
        return settings.durationSeconds * 1.05
            * (bare.warmUp + bare.measured + metered.warmUp + metered.measured)
    }

    mutating func measure(
        _ planned: PlannedCase,
        repeatIndex: Int
    ) throws(MeasurementFailure) -> ComparisonReport.Repeat {
        // A virtual machine's processor changes its clock by some percent, within seconds. Else two
        // runs of one workload would have sections of different lengths.
        calibration = WorkCalibration.measure(work)
        stepNanoseconds.append(calibration.stepNanoseconds)
        let lineBefore = probe.nanoseconds()
        let bare = try run(planned, slice(planned, repeatIndex: repeatIndex, isMetered: false))
        let lineAfter = probe.nanoseconds()
        var found = ComparisonReport.Repeat(
            bare,
            index: repeatIndex,
            isPaced: planned.workload.arrival != .closed
        )
        if found.operations == 0 { found.seconds = settings.durationSeconds }
        found.lineNanoseconds = [lineBefore, lineAfter].compactMap(\.self)
        note(bare, planned)
        if !planned.isBaseline {
            let second = try run(
                planned,
                slice(planned, repeatIndex: repeatIndex, isMetered: true)
            )
            note(second, planned)
            found.add(second)
            let ratio = second.operationsPerSecond / found.operationsPerSecond
            metered[planned, default: ([], [])].operationsPerSecond
                .append(found.operationsPerSecond)
            if ratio.isFinite {
                metered[planned, default: ([], [])].ratios.append(ratio)
            }
        }
        return found
    }

    var hasRounds: Bool { settings.arrival == .closed }

    mutating func measureRound(
        _ cases: [PlannedCase],
        roundIndex: Int
    ) throws(RoundFailure) -> [SliceResult] {
        calibration = WorkCalibration.measure(work)
        stepNanoseconds.append(calibration.stepNanoseconds)
        guard let first = cases.first else { return [] }
        // All have the same threads and workload. Drawing their operations can take longer than a
        // slice. The seed differs from that of every repeat.
        var slice = slice(first, repeatIndex: settings.repeats + roundIndex, isMetered: false)
        let seconds = Slice.roundSeconds(threads: first.threads)
        slice.warmUpNanoseconds = UInt64(seconds * Slice.roundWarmUpShare * 1e9)
        slice.measuredNanoseconds = UInt64(seconds * 1e9)
        var found: [SliceResult] = []
        var before = probe.nanoseconds()
        for planned in cases {
            slice.stopSeconds = catalogue.stopSeconds(planned.subject)
            do throws(MeasurementFailure) {
                var output = try run(planned, slice)
                note(output, planned)
                let after = probe.nanoseconds()
                output.lineNanoseconds = [before, after].compactMap(\.self)
                found.append(output)
                before = after
            } catch {
                throw RoundFailure(cause: error, planned: planned)
            }
        }
        return found
    }

    mutating func note(_ output: SliceResult, _ planned: PlannedCase) {
        wrongCounts[planned.subject, default: 0] += output.wrongCount
        checkedCounts[planned.subject, default: 0] += output.operationsInAll
    }

    var instrument: ComparisonReport.InstrumentCost {
        // On one thread if that was measured, since there no other thread's meter interferes.
        let blocking = metered.filter { !$0.value.ratios.isEmpty && !$0.key.usesPool }
        let alone = blocking.filter { $0.key.threads == 1 }
        var cost = ComparisonReport.InstrumentCost.measure(
            metered: (alone.isEmpty ? blocking : alone).values.map { found in
                let rate = Statistics.median(found.operationsPerSecond)
                return (rate > 0 ? 1e9 / rate : 0, found.ratios)
            },
            systemCallsMissing: systemCallsMissing
        )
        cost.stepNanoseconds = typicalCalibration.stepNanoseconds
        return cost
    }

    /// A sentence for each baseline whose final values are wrong.
    ///
    /// If a baseline is wrong, the runner or the machine cannot be trusted.
    var findings: [String] {
        ComparisonReport.Baseline.allCases.compactMap { baseline in
            guard let wrong = wrongCounts[.baseline(baseline)], wrong > 0 else { return nil }
            if let name = settings.workload {
                return """
                    The check of the workload '\(name)' fails without a lock on one thread too: \
                    the workload is wrong, or its check.
                    """
            }
            return """
                The baseline \(baseline.rawValue) lost updates: the final value of \(wrong) keys \
                does not match the writes to them.
                """
        }
    }

    /// Whether any slice of a strategy lost updates.
    var verdicts: [ComparisonReport.Verdict] {
        settings.strategies.compactMap { name in
            guard let checked = checkedCounts[.strategy(name)] else { return nil }
            let wrong = wrongCounts[.strategy(name)] ?? 0
            return ComparisonReport.Verdict(
                strategy: name.rawValue,
                check: settings.workload == nil ? .counts : .workload,
                outcome: wrong == 0 ? .passed : .failed,
                checkedCount: checked,
                finding: wrong == 0 ? nil : finding(wrong)
            )
        }
    }

    private func finding(_ wrongCount: Int) -> String {
        if let name = settings.workload {
            return """
                The workload '\(name)' was not right \(FigureText.counted(wrongCount, "time")): \
                its check failed after a repeat, or something that it expects was not so.
                """
        }
        return """
            Updates were lost: the final value of \(wrongCount) keys does not match the writes \
            to them.
            """
    }

    private func run(
        _ planned: PlannedCase,
        _ slice: Slice
    ) throws(MeasurementFailure) -> SliceResult {
        switch planned.subject {
        case .strategy(let name):
            if let strategy = catalogue.strategy(name) {
                return try strategy.slice(slice)
            }
            guard let kind = name.kind else {
                throw .failed(ComparisonError("There is no strategy '\(name.rawValue)'."))
            }
            return try (catalogue.workload ?? .builtIn).slice(kind, slice)
        case .baseline(.bareMutex):
            return try slice.bareMutex()
        case .baseline:
            return try (catalogue.workload ?? .builtIn).unsynchronized(slice)
        }
    }

    /// The median of the repeats'.
    private var typicalCalibration: WorkCalibration {
        stepNanoseconds.isEmpty
            ? calibration : WorkCalibration(stepNanoseconds: Statistics.median(stepNanoseconds))
    }

    func cost(_ planned: PlannedCase) -> OperationCost? {
        operationCost(planned, typicalCalibration)
    }

    private func operationCost(
        _ planned: PlannedCase,
        _ calibration: WorkCalibration
    ) -> OperationCost {
        let workload = planned.workload
        let outside = workload.outside.nanoseconds(threads: planned.threads)
        return OperationCost(
            work: work,
            // At least one step, so that every write can be checked.
            sectionSteps: max(1, calibration.steps(nanoseconds: workload.sectionNanoseconds)),
            outsideSteps: calibration.steps(nanoseconds: outside)
        )
    }

    func slice(_ planned: PlannedCase, repeatIndex: Int, isMetered: Bool) -> Slice {
        let workload = planned.workload
        let share = isMetered ? Self.meteredShares : Self.bareShares
        let pace: Pace? =
            switch workload.arrival {
            case .closed: nil
            case .open(let rate): .constant(interval: 1e9 * Double(planned.threads) / rate)
            case .recorded: .recorded
            }
        var random = SeededRandom(seed: settings.seed &+ UInt64(repeatIndex))
        let keys =
            keys[workload] ?? KeyDistribution(count: workload.keys, skew: workload.skew)
        return Slice(
            workload: workload,
            plans: (0..<planned.threads).map { thread in
                trace.map {
                    OperationPlan($0, thread, of: planned.threads, stripes: workload.stripes)
                } ?? OperationPlan(workload, keys: keys, seed: random.next())
            },
            cost: operationCost(planned, calibration),
            warmUpNanoseconds: UInt64(settings.durationSeconds * share.warmUp * 1e9),
            measuredNanoseconds: UInt64(settings.durationSeconds * share.measured * 1e9),
            stopSeconds: catalogue.stopSeconds(planned.subject),
            pace: pace,
            isMetered: isMetered,
            counter: isMetered && !planned.usesPool ? counter : nil,
            usesPool: planned.usesPool,
            isInterrupted: isInterrupted
        )
    }
}
