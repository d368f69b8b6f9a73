extension ComparisonReport {
    /// One strategy on one number of threads under one workload.
    package struct Case: Codable, Sendable, Equatable {
        /// The name of a strategy, or in `baselines` a ``Baseline``.
        package var strategy: String
        /// How many threads, or over HTTP how many connections, work at once.
        package var threads: Int
        package var workload: ComparisonReport.Workload
        /// How many steps of work an operation does inside of the section and outside.
        ///
        /// The workload's nanoseconds in steps, on the machine of the report. Left out over the
        /// wire.
        package var sectionSteps: Int?
        package var outsideSteps: Int?
        package var repeats: [Repeat]
        /// Short slices beside the repeats, where they say the same as these.
        ///
        /// Then the throughput is that of the slices. Left out for a strategy that is far slower
        /// than the best one, and where there are none.
        package var rounds: Rounds?
        package var summary: Summary
        /// True for a strategy of the program's that applies writes asynchronously; else left out,
        /// since our strategies are known by name.
        package var isAsynchronous: Bool?
    }

    /// The operations that every thread repeats.
    package struct Workload: Codable, Sendable, Hashable {
        /// The share of operations that only read, from 0 to 1.
        package var readRatio: Double
        /// The length of an operation's work inside the guarded section.
        package var sectionNanoseconds: Int
        package var outside: OutsideWork
        package var keys: Int
        package var skew: KeySkew
        package var stripes: Int
        package var arrival: Arrival
        /// Left out in process.
        package var transport: ComparisonSettings.Transport?
        /// The name of a program's own workload.
        ///
        /// Its section is not `sectionNanoseconds`. Left out for the built-in workload.
        package var name: String?
    }

    /// One measurement of a case.
    package struct Repeat: Codable, Sendable, Equatable {
        /// From 0.
        ///
        /// Repeats with the same index were taken next to each other, in rotated order.
        package var index: Int
        package var operations: Int
        package var seconds: Double
        package var operationsPerThread: [Int]
        /// From asking to entering.
        package var wait: Durations?
        /// From entering to leaving.
        package var hold: Durations?
        /// From the start of an operation to its end: over HTTP, what the client saw.
        package var response: Durations?
        /// The same from the *intended* start, so that a stall is not hidden.
        ///
        /// Open loop only. Operations that were due and had not begun at the end count as having
        /// taken until the end.
        package var responseFromIntendedStart: Durations?
        /// From the intended start to the real one.
        ///
        /// Open loop only.
        package var startDelay: Durations?
        /// The operations of the metered part of the repeat.
        ///
        /// Wait, hold, contention, hand-offs and system calls belong to these; everything else
        /// belongs to `operations`, without a meter.
        package var meteredOperations: Int?
        package var contended: Int?
        package var handOffs: Int?
        package var cpuSeconds: Double?
        package var voluntarySwitches: Int?
        package var involuntarySwitches: Int?
        package var minorFaults: Int?
        package var majorFaults: Int?
        package var futexCalls: Int?
        package var systemCalls: Int?
        /// Operations that were refused because a backlog was full.
        ///
        /// They are not in `operations`.
        package var refused: Int?
        /// How long a cache line took there and back between processors, before the unmetered part
        /// of the repeat and after it.
        package var lineNanoseconds: [Double]?
        /// True if the repeat is left out, because the processors were moved during it.
        package var isLeftOut: Bool?
    }

    /// The short slices of a case, one in each round.
    ///
    /// A round is a slice of each strategy, one after the other. So figures at the same index of
    /// two strategies were measured next to each other, and a disturbance of both cancels in the
    /// ratio.
    package struct Rounds: Codable, Sendable, Equatable {
        package var operationsPerSecond: [Double]
        /// The rounds that are left out, because the processors were moved during them.
        package var leftOut: Set<Int>?
    }

    /// Quantiles of durations.
    package struct Durations: Codable, Sendable, Equatable {
        /// How many were timed.
        package var timedCount: Int
        package var meanNanoseconds: Double
        package var p50Nanoseconds: Double
        package var p90Nanoseconds: Double
        package var p99Nanoseconds: Double
        package var p999Nanoseconds: Double?
        package var maxNanoseconds: Double
    }

    /// A case in few figures.
    ///
    /// The median over the repeats, except where noted.
    package struct Summary: Codable, Sendable, Equatable {
        /// Over the rounds, where there are some.
        package var operationsPerSecond: Spread
        /// Wall time over all operations of all threads.
        package var nanosecondsPerOperation: Double
        /// `nanosecondsPerOperation` over that of `unsynchronized` under the same workload.
        package var costAgainstUnsynchronized: Double?
        package var wait: Durations?
        package var hold: Durations?
        package var response: Durations?
        package var responseFromIntendedStart: Durations?
        package var startDelay: Durations?
        package var contendedRatio: Double?
        package var handOffsPerSecond: Double?
        package var cpuSecondsPerMillionOperations: Double?
        package var voluntarySwitchesPerSecond: Double?
        package var involuntarySwitchesPerSecond: Double?
        package var futexCallsPerOperation: Double?
        /// Jain's index of the threads' operations: 1 if all did the same, 1/n if one did all.
        package var jainIndex: Double?
        /// Whether the repeats fall into two groups.
        ///
        /// The interval then begins at the slowest repeat.
        package var isBistable: Bool
        /// The medians of the two groups, the worse one first.
        ///
        /// Left out unless bistable.
        package var modesOperationsPerSecond: [Double]?
        /// The one repeat that is far slower than all others.
        ///
        /// The lower end of the interval is that of the others. Left out if there is none.
        package var slowRepeatOperationsPerSecond: Double?
    }

    /// Throughput over the repeats or the rounds.
    package struct Spread: Codable, Sendable, Equatable {
        package var min: Double
        package var median: Double
        package var max: Double
        /// The interval of the median, at 95 %.
        ///
        /// With two modes it begins at the slowest repeat; one slow repeat is left out of its
        /// lower end.
        package var intervalLow: Double
        package var intervalHigh: Double
    }
}
