import CLatchkeySystem
import Dispatch
import Foundation
import Glibc
public import LatchkeyContention
import LatchkeyMachine
public import LatchkeyStrategies
import LatchkeyVerdict

/// One measurement of a case, and everything that its threads share.
@usableFromInline
struct Slice: Sendable {
    let workload: ComparisonReport.Workload
    let plans: [OperationPlan]
    let cost: OperationCost
    var warmUpNanoseconds: UInt64
    var measuredNanoseconds: UInt64
    /// How long the threads may take to stop, besides the sections that are under way.
    var stopSeconds = BoundedWait.secondsDefault
    /// How long they may take to start: the system can refuse one silently.
    var startSeconds = 30.0
    /// When operations are due, in an open loop.
    var pace: Pace?
    /// Whether contention is metered.
    ///
    /// The throughput comes from the slice without a meter.
    var isMetered = false
    var counter: SystemCallCounter?
    /// Whether operations run on other threads than those that ask for them, whose processor time
    /// must then be in the figure.
    var usesPool = false
    var isInterrupted: @Sendable () -> Bool = { false }
    /// The response times of an open loop.
    let responses = Responses()

    var threads: Int { plans.count }

    /// The length of a slice in a round: shorter than a mode of the processors, by a factor of 10
    /// or more.
    ///
    /// Half as long on one thread. All strategies take part there, and no thread waits, so that the
    /// ratios vary least.
    static func roundSeconds(threads: Int) -> Double { threads == 1 ? 0.005 : 0.010 }
    static let roundWarmUpShare = 0.05

    /// One acquisition in N is timed on average.
    ///
    /// That is often enough for a slow strategy's short slice to have quantiles. Its cost is not in
    /// the throughput.
    static let samplingMean = 8

    /// In one stripe.
    @usableFromInline var hasOneKey: Bool { workload.keys == 1 && workload.stripes == 1 }

    @usableFromInline var stripes: Int { workload.stripes }

    /// The number of keys in a stripe.
    @usableFromInline
    func keyCount(stripe: Int) -> Int {
        (workload.keys - stripe + workload.stripes - 1) / workload.stripes
    }

    /// A meter for this slice alone, if it has one.
    @usableFromInline
    func meter(_ traits: StrategyTraits, as name: String) -> ContentionMeter? {
        guard isMetered else { return nil }
        return ContentionMeter(
            strategy: name,
            traits: traits,
            role: .comparison,
            level: .sampled,
            samplingMean: Self.samplingMean
        )
    }
}

extension Slice {
    /// Runs the threads, each on an operator that it makes itself, and returns what they did.
    ///
    /// **Design.** The calling thread controls: it waits for all to arrive at the start line, lets
    /// them warm up, measures for the given time and ends. It sleeps in between, so it takes no
    /// processor from them. Each worker leaves its tally under a lock when it ends.
    ///
    /// - Parameters:
    ///   - meter: Reset when the warm-up is over.
    ///   - performer: Called on each worker's thread.
    /// - Returns: The tallies of the threads.
    /// - Throws: ``MeasurementFailure`` if there is nothing to return.
    func run(
        _ meter: ContentionMeter? = nil,
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
        try awaitArrival(clock)
        clock.advance(to: .warmingUp)
        let isWarm = rest(warmUpNanoseconds)
        meter?.reset()
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
            responses: pace == nil ? nil : responses,
            contention: meter.map { ContentionReport.Row($0) }
        )
    }

    /// Returns when all threads are at the start line.
    private func awaitArrival(_ clock: StageClock) throws(MeasurementFailure) {
        let end = latchkey_system_nanoseconds() + UInt64(startSeconds * 1e9)
        while clock.arrivedCount < threads {
            let isInterrupted = isInterrupted()
            let now = latchkey_system_nanoseconds()
            guard !isInterrupted, now < end else {
                // The threads that have arrived leave.
                clock.end(at: now)
                throw isInterrupted
                    ? .interrupted
                    : .failed(
                        ComparisonError(
                            "Only \(clock.arrivedCount) of \(threads) threads started within "
                                + "\(FigureText.given(seconds: startSeconds)). "
                                + "Raise TasksMax= of a unit, --pids-limit of a container, or "
                                + "'ulimit -u'."
                        )
                    )
            }
            usleep(50)
        }
    }

    /// The time in which the threads finish the operations that are under way, with a margin.
    ///
    /// Each of them may wait for those of all others.
    var bound: BoundedWait {
        let underWay = threads * (usesPool ? SubmissionWindow.max : 1)
        let seconds = Double(underWay) * Double(workload.sectionNanoseconds) / 1e9
        return BoundedWait(
            seconds: stopSeconds + 2 * seconds,
            isInterrupted: isInterrupted
        )
    }

    /// Sleeps; false if the run was interrupted meanwhile.
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

    /// The number of keys whose value does not match the writes of all threads.
    func wrongKeys(_ result: SliceResult, value: (_ key: Int) -> UInt64) -> Int {
        var writes = [UInt64](repeating: 0, count: workload.keys)
        for (plan, tally) in zip(plans, result.tallies) {
            plan.addWrites(among: tally.operationsInAll, stripes: workload.stripes, to: &writes)
        }
        return writes.indices.count { key in
            let steps = writes[key] &* UInt64(cost.sectionSteps)
            return value(key) != cost.work.jump(startValue, steps: steps)
        }
    }
}
