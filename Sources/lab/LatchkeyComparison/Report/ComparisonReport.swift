package import Foundation

/// The result of `latchkey compare`: the one value for the terminal, JSON, CSV and HTML.
///
/// The names of the properties are the names in the JSON, units last; `docs/comparison-report.md`
/// describes them and `docs/schemas/comparison-report.schema.json` is their schema. A figure that
/// was not measured is left out, never 0.
@usableFromInline
package struct ComparisonReport: Codable, Sendable, Equatable {
    /// The name of this form of the report.
    ///
    /// Adding an optional property keeps the name; anything else changes the number.
    package static let schemaName = "latchkey-comparison/3"

    package var schema = ComparisonReport.schemaName
    package var startedAt: Date
    package var elapsedSeconds: Double
    /// Whether the run was ended before all repeats were done.
    ///
    /// `cases` holds what was finished.
    package var isInterrupted: Bool
    package var settings: ComparisonSettings
    package var fingerprint: Fingerprint
    package var conditions: Conditions
    package var instrument: InstrumentCost
    /// For each workload `unsynchronized`, on one thread, and `pthread-mutex`, on as many as the
    /// cases; over HTTP `http-alone`.
    ///
    /// The same figures as the cases, and never ranked.
    package var baselines: [Case]
    package var cases: [Case]
    package var verdicts: [Verdict]
    /// The promises of the program's own strategies; left out if it has none.
    package var ownStrategies: [OwnStrategy]?
    /// Decided by ``conclude(isForced:)``, like `cliffs` and `recommendation`.
    package var crossovers: [Crossover] = []
    package var cliffs: [Cliff] = []
    package var recommendation: Recommendation?
}

extension ComparisonReport {
    /// The names of the baselines, which are no strategies.
    package enum Baseline: String, Sendable, CaseIterable {
        /// The work alone, on one thread: the physical limit.
        case unsynchronized
        /// A `pthread_mutex_t` around the work, without a strategy: the further cost of
        /// `pthread-mutex` is that of the library.
        case bareMutex = "bare-mutex"
        /// Over HTTP: requests that touch no property.
        case httpAlone = "http-alone"
    }

    package static func isBaseline(_ name: String) -> Bool { Baseline(rawValue: name) != nil }

    /// The machine and the build, without which the figures mean little.
    ///
    /// A type of its own, because the report's schema stays while the service's may grow.
    package struct Fingerprint: Codable, Sendable, Equatable {
        package var latchkeyVersion: String
        package var swiftVersionAtLeast: String
        /// `debug` or `release`.
        package var configuration: String
        package var mutex: MutexObservation
        package var operatingSystem: String?
        package var kernel: String?
        package var architecture: String?
        package var processorModel: String?
        package var hypervisor: String?
        package var processorsOnline: Int
        /// The processors that this process may run on, such as `0-3`.
        package var processorsAllowed: String?
        /// How many processors' time the control group grants, if it limits it.
        package var processorQuota: Double?
        package var frequencyGovernor: String?
        package var memoryBytes: Int
        package var clockSource: String?
        /// Left out by earlier versions.
        package var cacheLine: CacheLine?
    }

    /// Which `Synchronization.Mutex` is linked, found by watching it wait.
    package struct MutexObservation: Codable, Sendable, Equatable {
        package enum Kind: String, Codable, Sendable, CaseIterable {
            case priorityInheritingFutex = "priority-inheriting-futex"
            case spinningFutex = "spinning-futex"
            case unknown
        }

        package var kind: Kind
        /// The observation, in a sentence.
        package var evidence: String
    }

    /// The conditions of the measurement, and whether its figures can be ranked.
    package struct Conditions: Codable, Sendable, Equatable {
        package enum Ranking: String, Codable, Sendable, CaseIterable {
            case allowed
            case refused
            /// Ranked in spite of the findings, because `--force` was given.
            case forced
        }

        package var ranking: Ranking
        /// Why the figures cannot be ranked, a sentence each.
        ///
        /// Empty if they can.
        package var findings: [String]
        /// Disturbances beyond those of a quiet machine, a sentence each.
        ///
        /// They make intervals wider.
        package var disturbances: [String] = []
        /// Of the last 1, 5 and 15 minutes, when the run began and when it ended.
        package var loadAverageBefore: [Double]
        package var loadAverageAfter: [Double]
        /// How many processors other processes kept busy during the run, on average.
        package var foreignProcessors: Double?
        /// The share of the processors' time that the hypervisor gave to other guests.
        package var stealRatio: Double?
        /// The time for which the control group kept this process from running.
        package var throttledSeconds: Double?
    }

    /// The cost of measuring, measured in this process.
    package struct InstrumentCost: Codable, Sendable, Equatable {
        package var clockNanoseconds: Double
        /// The runner's loop around an operation that does nothing.
        package var loopNanosecondsPerOperation: Double
        /// The cost of counting and timing for an operation, on average over timed and untimed
        /// ones.
        package var meteringNanosecondsPerOperation: Double
        /// One operation in this many is timed on average.
        package var samplingMean: Int
        /// The length of a step of work; sections and the work outside consist of such steps.
        ///
        /// Left out over HTTP.
        package var stepNanoseconds: Double?
        /// Why futex and system calls were not counted; left out if they were.
        package var systemCallsMissingBecause: String?
    }
}
