internal import LatchkeyStrategies

/// What ends with a service, in order: the one list of it.
///
/// A part says where it is made what it ends, and at which stage.
///
/// **Design.** Any thread adds, until the service runs; one thread ends all. The lock is not held
/// while anything is called.
package final class Closing: Sendable {
    /// A stage of the end, which begins once all of the one before has returned.
    package enum Stage: CaseIterable, Sendable {
        /// Probes are told that the service ends.
        case announced
        /// Nothing comes from other services any more, and no change goes to their log.
        case replicas
        /// Streams, and requests that wait, are ended; timers, too.
        case streams
        /// Operations end, before the server: streams of events still get the last one.
        case operations
        /// No request comes any more, and those in flight have their time.
        case requests
        /// The log of a cluster is executed no more.
        case execution
        /// What is committed is written.
        case data
        /// Lines about requests are written, after the last answers, which waited for the data.
        case logs
        /// Threads that served the requests end.
        case threads
        /// Probes are served until all else has ended.
        case probes
    }

    /// Ends a part, within a time if it takes some, and says what became of its work.
    package typealias End = @Sendable (_ time: Duration, _ drained: inout Drained) -> Void

    private let ends = Guarded<[Stage: [End]]>([:])

    package init() {}

    /// Adds what ends at a stage, after what was added for the stage before.
    package func at(_ stage: Stage, _ end: @escaping End) {
        ends.write { $0[stage, default: []].append(end) }
    }

    /// Adds what ends at once.
    package func at(_ stage: Stage, _ end: @escaping @Sendable () -> Void) {
        at(stage) { _, _ in end() }
    }

    /// Ends everything, one after the other.
    ///
    /// - Parameter time: For the requests in flight.
    /// - Returns: What became of the requests, and of the data.
    package func end(within time: Duration) -> Drained {
        var drained = Drained()
        for stage in Stage.allCases {
            for end in ends.read({ $0[stage, default: []] }) { end(time, &drained) }
        }
        return drained
    }
}

/// What became of the work of a service that ended.
package struct Drained: Sendable, Equatable {
    /// Requests that were cut off because the time was over.
    package var requestCount = 0
    /// Answers that were cut off.
    package var answerCount = 0
    /// Whether everything that was committed is on disk.
    package var isWritten = true
    /// Whether it is not because the disk is full.
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
