extension ComparisonReport {
    /// Whether a strategy kept a promise during the measurement.
    @usableFromInline
    package struct Verdict: Codable, Sendable, Equatable {
        package enum Check: String, Codable, Sendable, CaseIterable {
            /// The counts at the end are the number of operations: no update was lost.
            case counts
            /// The strategy excludes and admits accesses as it promises.
            case laws
            /// In reports of 0.1: no reader saw one field of a pair without the other.
            case tornReads = "torn-reads"
            /// In reports of 0.1: the history has an order that one thread could have produced.
            case linearizability
            /// The check and the expectations of a program's own workload.
            case workload
        }

        package enum Outcome: String, Codable, Sendable, CaseIterable {
            case passed
            case failed
            /// Not decided within the limit of time or size.
            case undecided
        }

        package var strategy: String
        package var check: Check
        package var outcome: Outcome
        /// How many operations or laws were checked.
        package var checkedCount: Int
        /// The finding, in a sentence.
        ///
        /// Left out if nothing is wrong.
        package var finding: String?

        /// Whether an operation did not return: then nothing was counted.
        package var isHang: Bool {
            [.counts, .laws].contains(check) && outcome == .failed && checkedCount == 0
        }
    }

    /// Why the run ended before all repeats were done, in a sentence; `nil` if it did not.
    package var earlyEnd: String? {
        guard isInterrupted else { return nil }
        let rest = "only the finished part is shown."
        guard let hang = verdicts.first(where: \.isHang) else {
            return "The run was interrupted: \(rest)"
        }
        return "`\(hang.strategy)` did not return; the run ended there, and \(rest)"
    }

    /// Where one strategy overtakes another: each of the two is ahead at one of two neighbouring
    /// points.
    package struct Crossover: Codable, Sendable, Equatable {
        package enum Axis: String, Codable, Sendable, CaseIterable {
            case threads
            case readRatio = "read-ratio"
        }

        package var axis: Axis
        /// Everything but the axis.
        ///
        /// For `read-ratio`, its own read ratio means nothing.
        package var workload: ComparisonReport.Workload
        /// For `read-ratio`: on how many threads.
        package var threads: Int?
        /// The two points, between which nothing was measured.
        package var from: Double
        package var to: Double
        /// Which is ahead at `from`, and which at `to`.
        package var fasterBelow: String
        package var fasterAbove: String

        package init(
            axis: Axis,
            workload: ComparisonReport.Workload,
            threads: Int? = nil,
            from: Double,
            to: Double,
            fasterBelow: String,
            fasterAbove: String
        ) {
            (self.axis, self.workload, self.threads) = (axis, workload, threads)
            (self.from, self.to) = (from, to)
            (self.fasterBelow, self.fasterAbove) = (fasterBelow, fasterAbove)
        }
    }

    /// Where the throughput of a strategy falls by more than a factor of 3 between two neighbouring
    /// numbers of threads.
    package struct Cliff: Codable, Sendable, Equatable {
        package var strategy: String
        package var workload: ComparisonReport.Workload
        package var fromThreads: Int
        package var toThreads: Int
        package var fromOperationsPerSecond: Double
        package var toOperationsPerSecond: Double

        /// A fall between two neighbouring numbers of threads, with the throughput at each.
        package init(
            strategy: String,
            workload: ComparisonReport.Workload,
            threads: (from: Int, to: Int),
            operationsPerSecond: (from: Double, to: Double)
        ) {
            (self.strategy, self.workload) = (strategy, workload)
            (fromThreads, toThreads) = threads
            (fromOperationsPerSecond, toOperationsPerSecond) = operationsPerSecond
        }
    }

    /// Which strategy to use: three lines that take ten seconds, and a list that can be skipped.
    ///
    /// The lines are `sentence`, `flip` and `news`.
    package struct Recommendation: Codable, Sendable, Equatable {
        package enum Outcome: String, Codable, Sendable, CaseIterable {
            /// No other strategy is as good as the one to use.
            case one
            /// Others are within 10 %; a fixed order of preference decided.
            case several
            /// Conditions forbid a ranking, or nothing could be compared.
            case refused
        }

        package var outcome = Outcome.refused
        /// The strategy to use, then those that are within 10 % of it and could replace it.
        ///
        /// Empty if refused.
        package var strategies: [String] = []
        /// The strategy that stays unless another is better: `--current`, or its replacement.
        ///
        /// Left out if refused, and by earlier versions.
        package var current: String?
        /// Strategies that are faster over all cases, but are not recommended.
        package var passedOver: [PassedOver] = []
        /// The ratio of each other strategy to `current` over all cases.
        ///
        /// Left out if refused, and by earlier versions.
        package var ratios: [StrategyRatio]?
        /// The share by which two strategies that are about as fast have to differ over all cases
        /// to be told apart.
        ///
        /// Left out if there are no two such strategies.
        package var sensitivity: Double?
        /// Line three, which strategies must not be used here and why: a sentence, or nothing.
        package var news: [String] = []
        /// Line one, which strategy to use: at most 20 words.
        package var sentence = ""
        /// Line two: where the answer differs, in one clause for each condition.
        package var flip = ""
        /// Notes that can be skipped, a sentence each.
        package var notes: [String] = []

        /// Refuses to recommend anything.
        package init() {}

        /// The verdict.
        package var lines: [String] { [sentence, flip].filter { !$0.isEmpty } + news }
        /// Everything else.
        package var rest: [String] { passedOver.map(\.reason) + notes }
    }

    /// How many times as fast as the current strategy another one is, with its 95 % interval.
    package struct StrategyRatio: Codable, Sendable, Equatable {
        package var strategy: String
        package var ratio: Double
        package var low: Double
        package var high: Double

        package init(strategy: String, ratio: Double, low: Double, high: Double) {
            (self.strategy, self.ratio, self.low, self.high) = (strategy, ratio, low, high)
        }
    }

    /// A strategy that is faster over all cases, and why it is not recommended.
    package struct PassedOver: Codable, Sendable, Equatable {
        package var strategy: String
        /// In a sentence.
        package var reason: String

        package init(strategy: String, reason: String) {
            (self.strategy, self.reason) = (strategy, reason)
        }
    }
}
