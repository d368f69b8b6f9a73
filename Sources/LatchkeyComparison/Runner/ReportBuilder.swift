import Foundation
import LatchkeyContention
import LatchkeySync

/// Makes the report of what was measured.
struct ReportBuilder {
    let settings: ComparisonSettings
    let schedule: Schedule
    let measurement: Measurement
    let verdicts: [ComparisonReport.Verdict]
    let startedAt: Date
    let elapsedSeconds: Double
    let isInterrupted: Bool

    func report(
        fingerprint: ComparisonReport.Fingerprint,
        conditions: ConditionsWatch
    ) -> ComparisonReport {
        let baselines = cases { if case .baseline = $0.subject { true } else { false } }
        let unsynchronized = baselines.filter {
            $0.strategy == ComparisonReport.Baseline.unsynchronized.rawValue
        }
        let cases = cases { if case .strategy = $0.subject { true } else { false } }
        let fits = fits(cases)
        var report = ComparisonReport(
            startedAt: startedAt,
            elapsedSeconds: elapsedSeconds,
            isInterrupted: isInterrupted,
            settings: settings,
            fingerprint: fingerprint,
            conditions: conditions.conditions(
                isForced: settings.isForced,
                isDebug: fingerprint.isDebug,
                processors: fingerprint.processorsOnline
            ),
            instrument: instrument,
            baselines: baselines.map { $0.compared(with: unsynchronized) },
            cases: cases.map { $0.compared(with: unsynchronized) },
            verdicts: verdicts + stuckVerdicts,
            fits: fits,
            crossovers: Crossovers.among(cases, fits: fits)
        )
        var findings = measurement.baselineFindings
        if isInterrupted {
            // It can be ranked by what is finished, and says that it is not all.
            findings.append("The run was interrupted: some cases have fewer repeats than others.")
        }
        report.conditions.add(findings, isForced: settings.isForced)
        return report
    }

    private func cases(
        where isWanted: (PlannedCase) -> Bool
    ) -> [ComparisonReport.Case] {
        schedule.cases.indices.compactMap { index in
            let planned = schedule.cases[index]
            let repeats = measurement.repeats[index]
            guard isWanted(planned), !repeats.isEmpty else { return nil }
            let cost = measurement.cost(planned)
            return ComparisonReport.Case(
                strategy: planned.subject.name,
                threads: planned.threads,
                workload: planned.workload,
                sectionSteps: cost.sectionSteps,
                outsideSteps: cost.outsideSteps,
                repeats: repeats,
                summary: ComparisonReport.Summary(repeats, seed: settings.seed)
            )
        }
    }

    /// A fit for each strategy and workload that was swept over enough numbers of threads.
    private func fits(_ cases: [ComparisonReport.Case]) -> [ComparisonReport.ScalingFit] {
        cases.sweeps.compactMap { ComparisonReport.ScalingFit($0, seed: settings.seed) }
    }

    private var instrument: ComparisonReport.InstrumentCost {
        // On one thread if that was measured, since nobody else's meter is in the way there.
        let blocking = schedule.cases.indices.filter {
            !measurement.meteredRatios[$0].isEmpty && !schedule.cases[$0].usesPool
        }
        let alone = blocking.filter { schedule.cases[$0].threads == 1 }
        var cost = ComparisonReport.InstrumentCost.measure(
            metered: (alone.isEmpty ? blocking : alone).map { index in
                let repeats = measurement.repeats[index]
                let rate = Statistics.median(repeats.map(\.operationsPerSecond))
                return (rate > 0 ? 1e9 / rate : 0, measurement.meteredRatios[index])
            },
            systemCallsMissing: measurement.systemCallsMissing
        )
        cost.stepNanoseconds = measurement.calibration.stepNanoseconds
        return cost
    }

    /// What a case says whose threads did not leave.
    private var stuckVerdicts: [ComparisonReport.Verdict] {
        guard let stuck = measurement.stuckCase else { return [] }
        let verdict = ComparisonReport.Verdict(
            strategy: stuck.subject.name,
            check: .counts,
            outcome: .failed,
            checkedCount: 0,
            finding: """
                With \(stuck.label) an operation did not return within \
                \(Int(Patience().seconds)) s; the run ended there.
                """
        )
        return [verdict]
    }
}

private struct SweepKey: Hashable {
    var strategy: String
    var workload: ComparisonReport.Workload
}

extension [ComparisonReport.Case] {
    /// The cases in groups of the same key, in the order in which the keys come first.
    func grouped(by key: (Element) -> some Hashable) -> [[Element]] {
        var places: [AnyHashable: Int] = [:]
        var groups: [[Element]] = []
        for found in self {
            let key = AnyHashable(key(found))
            if let place = places[key] {
                groups[place].append(found)
            } else {
                places[key] = groups.count
                groups.append([found])
            }
        }
        return groups
    }

    /// The cases by strategy and workload, each group in ascending order of threads.
    var sweeps: [[Element]] {
        grouped { SweepKey(strategy: $0.strategy, workload: $0.workload) }.map { sweep in
            sweep.sorted { $0.threads < $1.threads }
        }
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

extension ComparisonReport.Conditions {
    /// The fewest repeats that can be told from chance.
    package static let repeatsMin = 3

    /// Adds reasons why the figures cannot be ranked.
    fileprivate mutating func add(_ findings: [String], isForced: Bool) {
        guard !findings.isEmpty else { return }
        self.findings += findings
        ranking = isForced ? .forced : .refused
    }
}

extension ComparisonReport.Summary {
    init(_ repeats: [ComparisonReport.Repeat], seed: UInt64) {
        let rates = repeats.map(\.operationsPerSecond)
        let spread = ComparisonReport.Spread(rates, seed: seed)
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
            modesOperationsPerSecond: modes.map { [$0.worse, $0.better] }
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

    /// The medians of the repeats' figures; the number of all that were timed; the longest of all,
    /// since the median of maxima would hide a stall.
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
