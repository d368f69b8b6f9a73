import LatchkeyStrategies

/// The strategies to compare, and how: the command line of `latchkey compare`, checked.
///
/// Every list is one dimension of the cases; the run is their product.
package struct ComparisonSettings: Codable, Sendable, Equatable {
    package enum Transport: String, Codable, Sendable, CaseIterable {
        /// Threads of this process on a guarded value.
        case memory
        /// `wrk` on a service that is started for each strategy.
        case http
    }

    package var transport = Transport.memory
    /// The well-known situation that was chosen, if one was.
    package var preset: ComparisonPreset?
    package var strategies = StrategyKind.allCases.map(StrategyName.init)
    /// The strategy that the user has, which stays unless another is better.
    ///
    /// Left out: `lock`.
    package var current: StrategyName?
    /// The name of a program's own workload, which is measured instead of the built-in section.
    package var workload: String?
    /// The program that measures, if it is not `latchkey`.
    package var program: String?
    package var threads = [1, 2, 4, 8]
    package var readRatios = [0.5]
    package var sectionNanoseconds = [50]
    package var outside = [OutsideWork(nanoseconds: 200, scalesWithThreads: false)]
    package var keys = [1]
    package var skews = [KeySkew.uniform]
    package var stripes = [1]
    package var arrival = Arrival.closed
    /// The trace that is replayed, if one is.
    package var trace: TraceSource?
    /// The time for which one repeat is measured.
    ///
    /// Its warm-up is not included.
    package var durationSeconds = 0.08
    package var repeats = 5
    package var seed: UInt64 = 1
    /// Whether to rank although the conditions forbid it, and to say so.
    package var isForced = false

    package init() {}

    /// `current`, or the default: the strategy that every program has.
    package var currentStrategy: StrategyName {
        get { current ?? Self.currentDefault }
        set { current = newValue == Self.currentDefault ? nil : newValue }
    }

    private static let currentDefault = StrategyName(StrategyKind.standard)
}

/// The work of a thread between two operations.
package struct OutsideWork: Sendable, Hashable {
    package var nanoseconds: Int
    /// Whether it grows with the number of threads, which keeps the total demand the same.
    package var scalesWithThreads: Bool

    package func nanoseconds(threads: Int) -> Int {
        scalesWithThreads ? nanoseconds * threads : nanoseconds
    }
}

/// How often each key is used.
package enum KeySkew: Sendable, Hashable {
    case uniform
    /// The key of rank r is used in proportion to r to the power of minus the exponent.
    case zipf(exponent: Double)
}

/// When operations begin.
package enum Arrival: Sendable, Hashable {
    /// The next one when the last one has ended.
    case closed
    /// At a constant rate, of all threads together, whether or not the last one has ended.
    case open(operationsPerSecond: Double)
    /// At the times of a trace, which has this rate on average.
    case recorded(operationsPerSecond: Double)
}

/// The report's facts about the replayed trace.
package struct TraceSource: Codable, Sendable, Equatable {
    /// The name of the file, without its folder.
    package var file: String
    /// How many times faster than recorded it is replayed.
    package var speed: Double
    /// One operation in this many was recorded.
    package var sampleInterval: Int
    /// Of the whole trace.
    package var operations: Int
    package var seconds: Double
    package var isCutOff: Bool
}

/// The progress of a run.
package struct ComparisonProgress: Sendable, Equatable {
    /// Repeats, of all cases and baselines.
    package var finishedCount: Int
    package var totalCount: Int
    package var elapsedSeconds: Double
    /// An estimate.
    ///
    /// `nil` before there is anything to estimate it from.
    package var remainingSeconds: Double?
    /// The case in progress, such as `spin, 4 threads`.
    package var current: String
}
