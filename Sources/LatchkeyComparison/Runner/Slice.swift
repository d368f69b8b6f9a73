import CLatchkeySystem
import Dispatch
import Foundation
import Glibc
import LatchkeyMachine
import LatchkeyStrategies

/// One measurement of a case, and everything that its threads share.
struct Slice: Sendable {
    let plans: [OperationPlan]
    /// The length of a section, where it is known.
    var sectionNanoseconds = 0
    /// How long the threads may take to stop, besides the sections that are under way.
    var stopSeconds = BoundedWait.secondsDefault
    let cost: OperationCost
    var warmUpNanoseconds: UInt64
    var measuredNanoseconds: UInt64
    /// When operations are due, in an open loop.
    var pace: Pace?
    var counter: SystemCallCounter?
    /// Whether operations run on other threads than those that ask for them, whose processor time
    /// must then be in the figure.
    var usesPool = false
    /// Counts for all threads but the controlling one.
    var heapCounter: HeapCounter?
    var isInterrupted: @Sendable () -> Bool = { false }
    /// Of an open loop.
    let responses = Responses()

    var threads: Int { plans.count }
}

/// The result of a slice.
@usableFromInline
struct SliceResult: Sendable {
    var tallies: [WorkerTally]
    var usage: Usage
    /// In an open loop.
    var responses: Responses?

    /// The sum of the threads' own rates.
    ///
    /// Each rate is measured from the common start to the end of the thread's last operation. So a
    /// thread that waits for long at the end neither loses that time nor extends the time of the
    /// others.
    var operationsPerSecond: Double { tallies.reduce(0) { $0 + $1.operationsPerSecond } }
    var operations: Int { tallies.reduce(0) { $0 + $1.operations } }
    /// Warm-up included.
    var operationsInAll: Int { tallies.reduce(0) { $0 + $1.operationsInAll } }
}

extension Slice {
    /// Runs the threads, each on an operator that it makes itself, and returns what they did.
    ///
    /// **Design.** The calling thread controls: it waits for all to arrive at the start line, lets
    /// them warm up, measures for the given time and ends. It sleeps in between, so it takes no
    /// processor from them. Each worker leaves its tally under a lock when it ends.
    ///
    /// - Parameters:
    ///   - whenMeasuring: Called on the calling thread when the warm-up is over.
    ///   - performer: Called on each worker's thread.
    /// - Returns: What each of them did.
    /// - Throws: ``MeasurementFailure`` if there is nothing to return.
    func run(
        whenMeasuring: () -> Void = {},
        performer: @escaping @Sendable (_ thread: Int, _ clock: StageClock) -> AnyOperator
    ) throws(MeasurementFailure) -> SliceResult {
        let clock = StageClock()
        let tallies = Guarded<[WorkerTally]>(
            [WorkerTally](repeating: WorkerTally(), count: threads)
        )
        let left = DispatchGroup()
        for thread in 0..<threads {
            left.enter()
            Thread.detachNewThread {
                var worker = Worker(self, thread: thread, performer(thread, clock))
                let tally = worker.run(clock)
                tallies.write { $0[thread] = tally }
                left.leave()
            }
        }
        while clock.arrivedCount < threads {
            usleep(50)
        }
        clock.advance(to: .warmingUp)
        let isWarm = rest(warmUpNanoseconds)
        whenMeasuring()
        let usageBefore = (process: Usage.process, own: Usage.thread)
        clock.measure(from: latchkey_system_nanoseconds())
        let isMeasured = isWarm && rest(measuredNanoseconds)
        clock.end(at: latchkey_system_nanoseconds())
        try bound.wait(for: left)
        let process = Usage.process - usageBefore.process
        let own = Usage.thread - usageBefore.own
        guard isMeasured else {
            throw .interrupted
        }
        let found = tallies.read { $0 }
        return SliceResult(
            tallies: found,
            usage: usesPool ? process - own : found.reduce(Usage()) { $0 + $1.usage },
            responses: pace == nil ? nil : responses
        )
    }

    /// The time in which the threads finish the operations that are under way, with a margin.
    ///
    /// Each of them may wait for those of all others.
    @usableFromInline var bound: BoundedWait {
        let underWay = threads * (usesPool ? SubmissionWindow.max : 1)
        let seconds = Double(underWay) * Double(sectionNanoseconds) / 1e9
        return BoundedWait(
            seconds: stopSeconds + 2 * seconds,
            isInterrupted: isInterrupted
        )
    }

    /// Sleeps for so long; false if the run was interrupted meanwhile.
    private func rest(_ nanoseconds: UInt64) -> Bool {
        let napNanoseconds: UInt64 = 50_000_000
        let end = latchkey_system_nanoseconds() + nanoseconds
        while true {
            if isInterrupted() {
                return false
            }
            let now = latchkey_system_nanoseconds()
            if now >= end {
                return true
            }
            usleep(UInt32(min(end - now, napNanoseconds) / 1_000) + 1)
        }
    }
}
