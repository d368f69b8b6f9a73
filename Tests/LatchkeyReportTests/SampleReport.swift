import Foundation
import LatchkeyStrategies

@testable import LatchkeyComparison
@testable import LatchkeyReport

/// Reports made by hand: what strategies do is a formula, and the noise on it has a seed.
struct SampleReport {
    var strategies = StrategyKind.allCases
    var threads = [1, 2, 4, 8]
    var workloads = [SampleReport.workload()]
    var repeats = 5
    var seed: UInt64 = 1
    /// The relative deviation of one repeat.
    var noise = 0.02
    /// The relative deviation of all repeats of one round together: other load on the machine.
    var roundNoise = 0.0
    /// The share of repeats that another load slows to less than half.
    var outlierShare = 0.0
    /// Multiplies throughput.
    var speed: (StrategyKind, _ threads: Int) -> Double = { _, _ in 1 }
    /// The noise of cases with several threads, if that is another one.
    var noiseOfMany: Double?
    /// How much longer the section is held.
    var holdFactor = 1.0
    /// Multiplies the processor time of an operation, which otherwise follows throughput.
    var processorTime: ((_ threads: Int) -> Double)?

    static func workload(
        readRatio: Double = 0.5,
        section: Int = 50,
        transport: ComparisonSettings.Transport? = nil
    ) -> ComparisonReport.Workload {
        ComparisonReport.Workload(
            readRatio: readRatio,
            sectionNanoseconds: section,
            outside: OutsideWork(nanoseconds: 200, scalesWithThreads: false),
            keys: 1,
            skew: .uniform,
            stripes: 1,
            arrival: .closed,
            transport: transport
        )
    }

    func make() -> ComparisonReport {
        var random = SeededRandom(seed: seed)
        let rounds = (0..<repeats).map { _ in exp(roundNoise * random.normal()) }
        var cases: [ComparisonReport.Case] = []
        for workload in workloads {
            for count in threads {
                for strategy in strategies {
                    let rate = Self.rate(strategy, count) * speed(strategy, count)
                    cases.append(
                        entry(strategy.rawValue, count, workload, rate, rounds, &random)
                    )
                }
            }
        }
        var baselines: [ComparisonReport.Case] = []
        for workload in workloads {
            baselines.append(entry("unsynchronized", 1, workload, 80e6, rounds, &random))
            for count in threads {
                let rate = Self.rate(.lock, count) * 1.05
                baselines.append(entry("bare-mutex", count, workload, rate, rounds, &random))
            }
        }
        var report = ComparisonReport.empty
        report.settings.strategies = strategies.map(StrategyName.init)
        report.settings.threads = threads
        report.settings.repeats = repeats
        report.settings.durationSeconds = 0.2
        report.settings.seed = seed
        report.settings.readRatios = workloads.map(\.readRatio).uniqued()
        report.settings.sectionNanoseconds = workloads.map(\.sectionNanoseconds).uniqued()
        report.cases = cases
        report.baselines = baselines
        return report
    }

    /// The same in an open loop that all keep up with, with this p99 from when it was due.
    func open(p99: (StrategyKind) -> Double) -> ComparisonReport {
        var report = make()
        let arrival = Arrival.open(operationsPerSecond: 1e5)
        report.settings.arrival = arrival
        for index in report.baselines.indices {
            report.baselines[index].workload.arrival = arrival
        }
        for index in report.cases.indices {
            let kind = StrategyKind(rawValue: report.cases[index].strategy) ?? .lock
            let repeats = report.cases[index].repeats.map { measured in
                var measured = measured
                let noise = 1 + 0.001 * Double(measured.index - 2)
                measured.operations = Int(1e5 * measured.seconds)
                measured.response = .sample(p50: 40)
                measured.responseFromIntendedStart = .sample(p50: p99(kind) / 20 * noise)
                return measured
            }
            report.cases[index] = ComparisonReport.Case(
                kind.rawValue,
                report.cases[index].threads,
                report.cases[index].workload,
                repeats
            )
            report.cases[index].workload.arrival = arrival
            report.cases[index].summary.response = repeats[0].response
            report.cases[index].summary.responseFromIntendedStart =
                repeats[2].responseFromIntendedStart
        }
        return report
    }

    /// Operations per second: λ, σ and κ of the Universal Scalability Law, about as measured.
    static func rate(_ strategy: StrategyKind, _ threads: Int) -> Double {
        let (lambda, contention, coherency): (Double, Double, Double) =
            switch strategy {
            case .serialQueue: (12e6, 0.5, 0.9)
            case .serialQueueAsync: (6e6, 0.6, 0.02)
            case .barrierQueue: (4e6, 0.5, 0.7)
            case .barrierQueueAsync: (3.5e6, 0.6, 0.02)
            case .lock: (38e6, 0.9, 0.03)
            case .recursiveLock: (37e6, 0.9, 0.032)
            case .spin: (47e6, 0.8, 0.12)
            case .adaptive: (45e6, 0.7, 0.02)
            case .monitor: (30e6, 0.9, 0.04)
            case .semaphore: (34e6, 0.8, 0.08)
            case .readWriteLock: (32e6, 0.8, 0.2)
            case .mutex: (50e6, 0.6, 4)
            case .snapshot: (28e6, 0.4, 0.05)
            case .actor: (9e6, 0.9, 0.05)
            default: (44e6, 0.8, 0.9)
            }
        let n = Double(threads)
        return lambda * n / (1 + contention * (n - 1) + coherency * n * (n - 1))
    }

    private func entry(
        _ strategy: String,
        _ threads: Int,
        _ workload: ComparisonReport.Workload,
        _ rate: Double,
        _ rounds: [Double],
        _ random: inout SeededRandom
    ) -> ComparisonReport.Case {
        let measured = rounds.enumerated().map { index, round in
            let slow = random.unit() < outlierShare ? 0.4 : 1
            let noise = threads == 1 ? noise : noiseOfMany ?? noise
            let rate = rate * round * exp(noise * random.normal()) * slow
            let operations = Int(rate * 0.2)
            let wait = 1e9 * Double(threads * threads) / rate
            let processorNanoseconds =
                processorTime.map { 300 * $0(threads) * exp(noise * random.normal()) }
                ?? (wait + 200) / Double(threads)
            return ComparisonReport.Repeat(
                index: index,
                operations: operations,
                seconds: 0.2,
                operationsPerThread: (0..<threads).map { operations / threads + $0 },
                wait: .sample(p50: wait),
                hold: .sample(p50: 50 * holdFactor * exp(noise * random.normal())),
                contended: operations / 3,
                handOffs: operations / 10,
                cpuSeconds: Double(operations) * processorNanoseconds / 1e9,
                voluntarySwitches: operations / 1_000,
                involuntarySwitches: 12,
                minorFaults: 3,
                majorFaults: 0
            )
        }
        return ComparisonReport.Case(strategy, threads, workload, measured)
    }
}

extension ComparisonReport.Case {
    /// With the summary of the repeats; its interval is their whole range.
    init(
        _ strategy: String,
        _ threads: Int,
        _ workload: ComparisonReport.Workload,
        _ repeats: [ComparisonReport.Repeat]
    ) {
        func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
        let rates = repeats.map(\.operationsPerSecond)
        self.init(
            strategy: strategy,
            threads: threads,
            workload: workload,
            repeats: repeats,
            summary: ComparisonReport.Summary(
                operationsPerSecond: ComparisonReport.Spread(
                    min: rates.min() ?? 0,
                    median: median(rates),
                    max: rates.max() ?? 0,
                    intervalLow: rates.min() ?? 0,
                    intervalHigh: rates.max() ?? 0
                ),
                nanosecondsPerOperation: 1e9 / median(rates),
                costAgainstUnsynchronized: 80e6 / median(rates),
                wait: repeats[0].wait,
                hold: repeats[0].hold,
                contendedRatio: 0.33,
                handOffsPerSecond: median(rates) / 10,
                cpuSecondsPerMillionOperations: median(
                    repeats.map { ($0.cpuSeconds ?? 0) * 1e6 / Double($0.operations) }
                ),
                voluntarySwitchesPerSecond: median(rates) / 1_000,
                involuntarySwitchesPerSecond: 60,
                jainIndex: 1 / (1 + 0.02 * Double(threads)),
                isBistable: false
            )
        )
    }
}

extension ComparisonReport.Durations {
    static func sample(p50: Double) -> ComparisonReport.Durations {
        ComparisonReport.Durations(
            timedCount: 1_000,
            meanNanoseconds: p50 * 1.4,
            p50Nanoseconds: p50,
            p90Nanoseconds: p50 * 3,
            p99Nanoseconds: p50 * 20,
            p999Nanoseconds: p50 * 400,
            maxNanoseconds: p50 * 9_000
        )
    }
}

extension ComparisonReport {
    /// Of a run on a quiet machine that measured nothing.
    static var empty: ComparisonReport {
        ComparisonReport(
            startedAt: Date(timeIntervalSince1970: 1_750_000_000),
            elapsedSeconds: 61,
            isInterrupted: false,
            settings: ComparisonSettings(),
            fingerprint: Fingerprint(
                latchkeyVersion: "0.1.0",
                swiftVersionAtLeast: "6.3.1",
                configuration: "release",
                mutex: MutexObservation(
                    kind: .priorityInheritingFutex,
                    evidence: "A waiting thread called futex with FUTEX_LOCK_PI."
                ),
                kernel: "6.18.0",
                architecture: "x86_64",
                processorModel: "Example <CPU> & Co",
                processorsOnline: 2,
                memoryBytes: 8 << 30,
                clockSource: "tsc"
            ),
            conditions: Conditions(
                ranking: .allowed,
                findings: [],
                loadAverageBefore: [0.1, 0.2, 0.3],
                loadAverageAfter: [1.9, 0.5, 0.3],
                foreignProcessors: 0.02,
                stealRatio: 0,
                throttledSeconds: 0
            ),
            instrument: InstrumentCost(
                clockNanoseconds: 22.5,
                loopNanosecondsPerOperation: 1.2,
                meteringNanosecondsPerOperation: 3.4,
                samplingMean: 64
            ),
            baselines: [],
            cases: [],
            verdicts: StrategyKind.allCases.flatMap { kind in
                [Verdict.Check.counts, .laws].map { check in
                    Verdict(
                        strategy: kind.rawValue,
                        check: check,
                        outcome: .passed,
                        checkedCount: 9
                    )
                }
            },
            crossovers: [],
            recommendation: nil
        )
    }
}

extension SeededRandom {
    mutating func unit() -> Double {
        Double.random(in: 0..<1, using: &self)
    }

    mutating func normal() -> Double {
        (-2 * log(1 - unit())).squareRoot() * cos(2 * .pi * unit())
    }
}

extension ReportDifference {
    /// One report of each side.
    init(
        from before: ComparisonReport,
        against after: ComparisonReport,
        isForced: Bool = false,
        failBelow: Double? = nil
    ) throws(ReportFileError) {
        try self.init(from: [before], against: [after], isForced: isForced, failBelow: failBelow)
    }
}
