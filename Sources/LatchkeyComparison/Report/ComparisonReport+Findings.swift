extension ComparisonReport {
    /// Whether a strategy kept a promise during the measurement.
    @usableFromInline
    package struct Verdict: Codable, Sendable, Equatable {
        package enum Check: String, Codable, Sendable, CaseIterable {
            /// The counts at the end are the number of operations: no update was lost.
            case counts
            /// No reader saw one field of a pair without the other.
            case tornReads = "torn-reads"
            /// The recorded history has an order that a single thread could have produced.
            case linearizability
            /// The check and the expectations of a workload of one's own.
            case workload
        }

        package enum Outcome: String, Codable, Sendable, CaseIterable {
            case passed
            case failed
            /// Not decided within the bound on time or size.
            case undecided
        }

        package var strategy: String
        package var check: Check
        package var outcome: Outcome
        /// How many operations or reads were checked.
        package var checkedCount: Int
        /// What was found, in a sentence.
        ///
        /// Left out if nothing is wrong.
        package var finding: String?
    }

    /// A figure with its 95 % interval.
    package struct Estimate: Codable, Sendable, Equatable {
        package var value: Double
        package var low: Double
        package var high: Double
    }

    /// The Universal Scalability Law over a sweep of threads:
    /// X(n) = λn / (1 + σ(n − 1) + κn(n − 1)).
    package struct ScalingFit: Codable, Sendable, Equatable {
        package var strategy: String
        package var workload: Workload
        /// λ: what one thread alone does.
        package var singleThreadOperationsPerSecond: Estimate
        /// σ: the share of the work that is done one thread at a time.
        package var contention: Estimate
        /// κ: the cost of keeping caches consistent.
        package var coherency: Estimate
        /// The number of threads at which the fitted curve is highest.
        ///
        /// Left out if it only rises.
        package var peakThreads: Double?
        package var peakOperationsPerSecond: Double?
        /// The share of the variation that the curve explains.
        package var rSquared: Double
    }

    /// Where one strategy overtakes another, beyond the noise on both sides.
    package struct Crossover: Codable, Sendable, Equatable {
        package enum Axis: String, Codable, Sendable, CaseIterable {
            case threads
            case readRatio = "read-ratio"
        }

        package var axis: Axis
        /// Everything but the axis.
        ///
        /// For `read-ratio`, its own read ratio means nothing.
        package var workload: Workload
        /// For `read-ratio`: on how many threads.
        package var threads: Int?
        /// The last measured point at which one is ahead.
        package var from: Double
        /// The first measured point at which the other is ahead.
        package var to: Double
        /// The place between them, from the fitted curves or a straight line.
        package var at: Double
        /// Which is faster below `at`, and which above.
        package var fasterBelow: String
        package var fasterAbove: String
    }

    /// The recommended strategies, in a sentence, and the condition that changes the
    /// recommendation.
    package struct Recommendation: Codable, Sendable, Equatable {
        package enum Outcome: String, Codable, Sendable, CaseIterable {
            /// One strategy is ahead beyond the noise.
            case one
            /// Several are ahead, and no difference was found between them.
            case several
            /// Conditions forbid a ranking, or nothing could be compared.
            case refused
        }

        package var outcome = Outcome.refused
        /// The strategies ahead, the one with the highest figure first.
        ///
        /// Empty if refused.
        package var strategies: [String] = []
        /// The whole recommendation, to be read by people.
        package var sentence = ""
        /// What would change the recommendation, in a sentence; "nothing in this run" is one too.
        package var flip = ""
        /// What throughput alone does not show, a sentence each.
        package var notes: [String] = []

        /// Refuses to recommend anything.
        package init() {}
    }
}
