internal import LatchkeyStrategies

/// The parts that end with a service, in order: the only list of them.
///
/// The code that makes a part registers its end and its stage.
///
/// **Design.** Any thread adds, until the service runs; one thread ends all. The lock is not held
/// while anything is called.
package final class Closing: Sendable {
    /// A stage of the end, which begins once all of the one before has returned.
    package enum Stage: CaseIterable, Sendable {
        /// Probes are told that the service ends.
        case announced
        /// No more changes come from other services, and none goes to their log.
        case replicas
        /// Streams, waiting requests and timers are ended.
        case streams
        /// Operations end, before the server: streams of events still get the last one.
        case operations
        /// No more requests come, and those in flight have their time.
        case requests
        /// The log of a cluster is not executed any more.
        case execution
        /// Commits are written.
        case data
        /// Lines about requests are written, after the last answers, which waited for the data.
        case logs
        /// Threads that served the requests end.
        case threads
        /// Probes are served until all else has ended.
        case probes
    }

    /// Ends a part, within a time if it needs some, and notes the outcome of its work.
    package typealias End = @Sendable (_ time: Duration, _ drained: inout Drained) -> Void

    private let ends = Guarded<[Stage: [End]]>([:])

    package init() {}

    /// Adds the end of a part at a stage, after those that the stage already has.
    package func at(_ stage: Stage, _ end: @escaping End) {
        ends.write { $0[stage, default: []].append(end) }
    }

    /// Adds the end of a part that needs no time.
    package func at(_ stage: Stage, _ end: @escaping @Sendable () -> Void) {
        at(stage) { _, _ in end() }
    }

    /// Ends everything, one after the other.
    ///
    /// - Parameter time: For the requests in flight.
    /// - Returns: The outcome for the requests and the data.
    package func end(within time: Duration) -> Drained {
        var drained = Drained()
        for stage in Stage.allCases {
            for end in ends.read({ $0[stage, default: []] }) { end(time, &drained) }
        }
        return drained
    }
}

/// The outcome of the work of a service that ended.
package struct Drained: Sendable, Equatable {
    /// Requests that were cut off because the time was over.
    package var requestCount = 0
    /// Answers that were cut off.
    package var answerCount = 0
    /// Whether everything that was committed is on disk.
    package var isWritten = true
    /// Whether the reason why it is not is a full disk.
    package var isDiskFull = false

    package init(
        requestCount: Int = 0,
        answerCount: Int = 0,
        isWritten: Bool = true,
        isDiskFull: Bool = false
    ) {
        self.requestCount = requestCount
        self.answerCount = answerCount
        self.isWritten = isWritten
        self.isDiskFull = isDiskFull
    }
}
