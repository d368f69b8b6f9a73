import Foundation
import LatchkeyContention
import LatchkeyMachine
import LatchkeyStrategies

extension ComparisonRun {
    /// Makes the report of a run.
    func report(
        _ measured: Measured,
        by method: any ComparisonMethod,
        startedAt: Date,
        from before: MachineReading,
        fingerprint: ComparisonReport.Fingerprint
    ) -> ComparisonReport {
        var (measured, fingerprint) = (measured, fingerprint)
        fingerprint.cacheLine?.take(measured.lineReadings)
        measured.repeats = zip(schedule.cases, measured.repeats).map { planned, repeats in
            repeats.marked(threads: planned.threads)
        }
        let baselines = cases(measured, method, areBaselines: true)
        let unsynchronized = baselines.filter {
            $0.strategy == ComparisonReport.Baseline.unsynchronized.rawValue
        }
        let cases = cases(measured, method, areBaselines: false)
        var findings = method.findings
        if let failure = measured.failure {
            findings.append(failure.message)
        }
        let verdicts = method.verdicts + measured.verdicts + stuckVerdicts(measured)
        if measured.isInterrupted, !verdicts.contains(where: \.isHang) {
            // The finished part can be ranked, and the report says that it is incomplete.
            findings.append("The run was interrupted: some cases have fewer repeats than others.")
        }
        var conditions = ComparisonReport.Conditions(
            from: before,
            to: MachineReading.now(),
            isForced: settings.isForced,
            fingerprint: fingerprint,
            findings: findings
        )
        conditions.disturbances +=
            [ComparisonReport.CacheLine.movement(measured.lineReadings)].compactMap(\.self)
        return ComparisonReport(
            startedAt: startedAt,
            elapsedSeconds: measured.elapsedSeconds,
            isInterrupted: measured.isInterrupted,
            settings: settings,
            fingerprint: fingerprint,
            conditions: conditions,
            instrument: method.instrument,
            baselines: baselines.map { $0.compared(with: unsynchronized) },
            cases: cases.map { $0.compared(with: unsynchronized) },
            verdicts: verdicts
        )
    }

    private func cases(
        _ measured: Measured,
        _ method: any ComparisonMethod,
        areBaselines: Bool
    ) -> [ComparisonReport.Case] {
        schedule.cases.indices.compactMap { index in
            let (planned, repeats) = (schedule.cases[index], measured.repeats[index])
            guard planned.isBaseline == areBaselines, !repeats.isEmpty else { return nil }
            let rounds = measured.shortSlices[index].flatMap { slices in
                ComparisonReport.Rounds(slices, beside: repeats)
            }
            // The section of a program's own workload does not consist of steps.
            let cost = method.cost(planned)
            let sectionSteps = planned.workload.name == nil ? cost?.sectionSteps : nil
            return ComparisonReport.Case(
                strategy: planned.subject.name,
                threads: planned.threads,
                workload: planned.workload,
                sectionSteps: sectionSteps,
                outsideSteps: cost?.outsideSteps,
                repeats: repeats,
                rounds: rounds,
                summary: ComparisonReport.Summary(repeats, rounds),
                isAsynchronous: isOwn(planned) && planned.usesPool ? true : nil
            )
        }
    }

    /// Whether the case is of a strategy that the program has registered.
    private func isOwn(_ planned: PlannedCase) -> Bool {
        guard case .strategy(let name) = planned.subject else { return false }
        return name.kind == nil
    }

    /// The finding for a case whose threads did not stop.
    private func stuckVerdicts(_ measured: Measured) -> [ComparisonReport.Verdict] {
        guard let stuck = measured.stuckCase else { return [] }
        let verdict = ComparisonReport.Verdict(
            strategy: stuck.subject.name,
            check: .counts,
            outcome: .failed,
            checkedCount: 0,
            finding: """
                With \(stuck.label) an operation did not return within \
                \(Int(catalogue.stopSeconds(stuck.subject))) s; the run ended there.
                """
        )
        return [verdict]
    }
}

extension ComparisonReport.Case {
    /// With the cost against unsynchronized code under the same workload, if that was measured.
    fileprivate func compared(with unsynchronized: [Self]) -> Self {
        var compared = self
        let limit = unsynchronized.first { $0.workload == workload }
        if let limit, limit.summary.nanosecondsPerOperation > 0 {
            compared.summary.costAgainstUnsynchronized =
                summary.nanosecondsPerOperation / limit.summary.nanosecondsPerOperation
        }
        return compared
    }
}

extension ComparisonReport.Summary {
    init(
        _ repeats: [ComparisonReport.Repeat],
        _ rounds: ComparisonReport.Rounds? = nil
    ) {
        let repeats = repeats.counted
        // Rounds say the same as repeats, so these have no modes that are far from each other.
        let rates = rounds == nil ? repeats.map(\.operationsPerSecond) : []
        let spread =
            rounds.map { ComparisonReport.Spread(slices: $0.clusters) }
            ?? ComparisonReport.Spread(rates)
        let modes = Modes(rates)
        func median(_ figure: (ComparisonReport.Repeat) -> Double?) -> Double? {
            let found = repeats.compactMap(figure)
            return found.isEmpty ? nil : Statistics.median(found)
        }
        func perSecond(_ count: @escaping (ComparisonReport.Repeat) -> Int?) -> Double? {
            median { found in
                count(found).map { found.seconds > 0 ? Double($0) / found.seconds : 0 }
            }
        }
        func perMetered(_ count: @escaping (ComparisonReport.Repeat) -> Int?) -> Double? {
            median { found in
                guard let count = count(found), let metered = found.meteredOperations, metered > 0
                else { return nil }
                return Double(count) / Double(metered)
            }
        }
        self.init(
            operationsPerSecond: spread,
            nanosecondsPerOperation: spread.median > 0 ? 1e9 / spread.median : 0,
            wait: .median(repeats.compactMap(\.wait)),
            hold: .median(repeats.compactMap(\.hold)),
            response: .median(repeats.compactMap(\.response)),
            responseFromIntendedStart: .median(repeats.compactMap(\.responseFromIntendedStart)),
            startDelay: .median(repeats.compactMap(\.startDelay)),
            contendedRatio: perMetered(\.contended).map { min(1, $0) },
            handOffsPerSecond: perMetered(\.handOffs).map { $0 * spread.median },
            cpuSecondsPerMillionOperations: median { found in
                guard let seconds = found.cpuSeconds, found.operations > 0 else { return nil }
                return seconds * 1e6 / Double(found.operations)
            },
            voluntarySwitchesPerSecond: perSecond(\.voluntarySwitches),
            involuntarySwitchesPerSecond: perSecond(\.involuntarySwitches),
            futexCallsPerOperation: perMetered(\.futexCalls),
            jainIndex: median {
                $0.operationsPerThread.isEmpty
                    ? nil : Statistics.jainIndex($0.operationsPerThread.map(Double.init))
            },
            isBistable: modes != nil,
            modesOperationsPerSecond: modes.map { [$0.worse, $0.better] },
            slowRepeatOperationsPerSecond: SlowRepeat(rates)?.value
        )
    }
}

extension ComparisonReport.Durations {
    init(_ found: ContentionReport.Durations) {
        self.init(
            timedCount: Int(found.timedCount),
            meanNanoseconds: Double(found.meanNanoseconds),
            p50Nanoseconds: Double(found.p50Nanoseconds),
            p90Nanoseconds: Double(found.p90Nanoseconds),
            p99Nanoseconds: Double(found.p99Nanoseconds),
            p999Nanoseconds: found.timedCount >= UInt64(Quantiles.rareCountMin)
                ? Double(found.p999Nanoseconds) : nil,
            maxNanoseconds: Double(found.maxNanoseconds)
        )
    }

    /// Medians over the repeats, the total number of timed operations, and the maximum of all,
    /// since a median of maxima would hide a stall.
    static func median(_ all: [Self]) -> Self? {
        guard !all.isEmpty else { return nil }
        func median(_ figure: (Self) -> Double) -> Double {
            Statistics.median(all.map(figure))
        }
        let rare = all.compactMap(\.p999Nanoseconds)
        return Self(
            timedCount: all.reduce(0) { $0 + $1.timedCount },
            meanNanoseconds: median(\.meanNanoseconds),
            p50Nanoseconds: median(\.p50Nanoseconds),
            p90Nanoseconds: median(\.p90Nanoseconds),
            p99Nanoseconds: median(\.p99Nanoseconds),
            p999Nanoseconds: rare.isEmpty ? nil : Statistics.median(rare),
            maxNanoseconds: all.map(\.maxNanoseconds).max() ?? 0
        )
    }
}
