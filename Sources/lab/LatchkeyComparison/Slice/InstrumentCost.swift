import CLatchkeySystem
import LatchkeyContention

extension ComparisonReport.InstrumentCost {
    /// Measures the cost of the runner itself.
    ///
    /// - Parameters:
    ///   - metered: Of some cases: the nanoseconds that an operation takes, and the
    ///     metered throughput over the unmetered, for each repeat.
    ///   - systemCallsMissing: Why system calls were not counted, if they were not.
    /// - Returns: The costs. Takes some twenty milliseconds.
    static func measure(
        metered: [(nanosecondsPerOperation: Double, ratios: [Double])],
        systemCallsMissing: String?
    ) -> ComparisonReport.InstrumentCost {
        let added = metered.map { found in
            let ratio = Statistics.median(found.ratios)
            return ratio > 0 ? found.nanosecondsPerOperation * (1 / ratio - 1) : 0
        }
        return ComparisonReport.InstrumentCost(
            clockNanoseconds: MeteringOverhead.clockNanoseconds,
            loopNanosecondsPerOperation: loopNanoseconds(),
            meteringNanosecondsPerOperation: max(0, Statistics.median(added)),
            samplingMean: Slice.samplingMean,
            systemCallsMissingBecause: systemCallsMissing
        )
    }

    /// The worker's loop around an operation that does nothing: the least of some short runs.
    ///
    /// On a busy machine the worker may not get a processor during a run of three milliseconds.
    /// Then the runs become longer, up to some seconds. If it never got one, the loop counts as
    /// half an operation per second, like every repeat without an operation.
    private static func loopNanoseconds() -> Double {
        let rates = (0..<11).lazy.map { doublings in
            (0..<5).map { _ in loopsPerSecond(milliseconds: 3 << doublings) }.max() ?? 0
        }
        return 1e9 / (rates.first { $0 > 0 } ?? Modes.valueMin)
    }

    private static func loopsPerSecond(milliseconds: UInt64) -> Double {
        let workload = ComparisonReport.Workload(
            readRatio: 0.5,
            sectionNanoseconds: 0,
            outside: OutsideWork(nanoseconds: 0, scalesWithThreads: false),
            keys: 1,
            skew: .uniform,
            stripes: 1,
            arrival: .closed
        )
        let slice = Slice(
            workload: workload,
            plans: [OperationPlan(workload, seed: 1)],
            cost: OperationCost(work: Work(seed: 1), sectionSteps: 0, outsideSteps: 0),
            warmUpNanoseconds: 1_000_000,
            measuredNanoseconds: milliseconds * 1_000_000
        )
        let result = try? slice.run { _, _ in AnyOperator(IdleOperator()) }
        return result?.operationsPerSecond ?? 0
    }
}

/// Only looks at an operation.
private struct IdleOperator: Operator {
    @inline(__always)
    mutating func perform(
        _ operation: PlannedOperation,
        number: Int,
        timing: ResponseTiming?
    ) -> UInt64 {
        UInt64(operation.slot)
    }
}
