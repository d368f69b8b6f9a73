internal import LatchkeyComparison
internal import LatchkeyStrategies
internal import LatchkeyVerdict

extension VerdictTable {
    /// The conditions that stay the same while strategies are compared.
    struct Situation: Hashable {
        var threads: Int
        var workload: ComparisonReport.Workload

        init(_ entry: ComparisonReport.Case) {
            (threads, workload) = (entry.threads, entry.workload)
        }
    }

    /// The figures of a report, in its order, and the situation of each place.
    static func of(
        _ report: ComparisonReport
    ) -> (table: VerdictTable, situations: [Situation]) {
        // One run has one kind of arrival.
        let figure = RankedFigure(report.cases.first?.workload)
        let situations = report.cases.map(Situation.init).uniqued()
        let workloads = situations.map(\.workload).uniqued()
        let names = report.cases.map(\.strategy).uniqued()
        var figures: [String: [Figures?]] = [:]
        for entry in report.cases {
            guard let place = situations.firstIndex(of: Situation(entry)) else { continue }
            figures[
                entry.strategy,
                default: [Figures?](repeating: nil, count: situations.count)
            ][place] = Figures(entry, figure)
        }
        let order =
            (StrategyKind.allCases.map(\.rawValue) + report.settings.strategies.map(\.rawValue)
            + names).uniqued()
        let table = VerdictTable(
            figure: figure,
            places: situations.map { situation in
                Place(
                    threads: situation.threads,
                    workload: workloads.firstIndex(of: situation.workload) ?? 0,
                    condition: WorkloadText.difference(of: situation.workload, among: workloads),
                    unit: WorkloadText.threadNoun(situation.workload)
                )
            },
            readRatios: situations.map(\.workload.readRatio),
            strategies: names.map { name in
                let traits = report.traits(of: name)
                let order = order.firstIndex(of: name) ?? order.count
                return Strategy(
                    name,
                    Preference(traits, order: order),
                    exclusion: report.exclusion(of: name)
                )
            },
            figures: figures
        )
        return (table, situations)
    }
}

extension Preference {
    fileprivate init(_ traits: StrategyTraits, order: Int) {
        let promises = [
            traits.isReentrant, traits.allowsConcurrentReaders, traits.handsOffFairly,
        ]
        self.init(
            comesWithPlatform: traits.comesWithPlatform,
            spins: traits.spins,
            keepsPolling: traits.keepsPolling,
            // Readers keep the value from before a write, so that the write makes another one.
            copiesOnWrite: traits.readsDuringWrites,
            appliesLater: traits.appliesWritesAsynchronously,
            promises: promises.count { $0 },
            order: order
        )
    }
}

extension VerdictTable.Figures {
    /// `nil` if nothing was completed.
    fileprivate init?(_ entry: ComparisonReport.Case, _ figure: RankedFigure) {
        guard let speed = figure.speeds(entry)?.median, speed > 0 else { return nil }
        let repeats = entry.counted.compactMap { measured in
            figure.speed(measured).map { (measured.index, $0) }
        }
        var rounds: [Int: [Double?]] = [:]
        if figure == .throughput, let slices = entry.rounds {
            for (round, slice) in slices.operationsPerSecond.enumerated() {
                let counts = slices.counts(round)
                rounds[round / ComparisonReport.Rounds.perRepeat, default: []].append(
                    counts ? max(slice, Modes.valueMin) : nil
                )
            }
        }
        self.init(
            speed: speed,
            repeats: Dictionary(
                repeats.map {
                    ($0, figure == .throughput ? max($1, Modes.valueMin) : $1)
                },
                uniquingKeysWith: { first, _ in first }
            ),
            rounds: rounds,
            limits: Limits(
                leastShare: entry.leastShare,
                waitP99Nanoseconds: entry.summary.wait?.p99Nanoseconds,
                processorNanoseconds: entry.summary.cpuSecondsPerMillionOperations.map {
                    $0 * 1_000
                }
            )
        )
    }
}

extension ComparisonReport.Case {
    /// The part of its fair share that the thread with the fewest operations gets, in the median
    /// repeat.
    fileprivate var leastShare: Double? {
        let shares = repeats.compactMap { entry -> Double? in
            let sum = entry.operationsPerThread.reduce(0, +)
            guard let least = entry.operationsPerThread.min(), sum > 0 else { return nil }
            return Double(least * entry.operationsPerThread.count) / Double(sum)
        }
        return shares.isEmpty ? nil : Statistics.median(shares)
    }

    /// Whether a thread has several operations in progress, which wait for each other.
    ///
    /// Its waits and its contention then say how it was driven, and cannot be compared with those
    /// of a strategy whose threads have one operation each.
    var waitsForItself: Bool {
        let kind = workload.transport == nil ? StrategyKind(rawValue: strategy) : nil
        return kind?.traits.appliesWritesAsynchronously ?? isAsynchronous ?? false
    }

    static let waitsForItselfNote =
        "* has up to 16 operations of a thread in progress, which wait for each other: its wait "
        + "and contention cannot be compared with the others'."
}

extension ComparisonReport {
    /// Why a strategy cannot be ranked: it failed a check, or does not keep up with the rate of an
    /// open loop.
    fileprivate func exclusion(of strategy: String) -> String? {
        if let failed = verdicts.first(where: { $0.strategy == strategy && $0.outcome == .failed })
        {
            return failed.isHang
                ? "did not return" : "failed the check '\(failed.check.rawValue)'"
        }
        return cases.last { $0.strategy == strategy && !RankedFigure.keepsUp($0) }.map {
            "did not keep up with the rate \(WorkloadText.threads($0.threads, $0.workload))"
        }
    }
}
