import LatchkeyContention
import LatchkeyStrategies

/// One slice of one strategy: builds what is guarded, runs the threads, checks the result.
///
/// A visitor, so that all of it is compiled once for each strategy.
///
/// **Design.** The controlling thread makes the guarded value before the threads start and checks
/// it after they have ended; in between it belongs to the strategy. Each slice has its own meter.
struct CaseSlice: StrategyVisitor {
    typealias Failure = MeasurementFailure

    let slice: Slice
    let workload: ComparisonReport.Workload
    /// Whether contention is metered.
    ///
    /// The throughput comes from the slice without a meter.
    let isMetered: Bool

    /// The result of the slice, and whether the values are right.
    struct Output {
        var result: SliceResult
        /// The number of keys whose value does not match the writes.
        var wrongKeys: Int
        var contention: ContentionReport.Row?
    }

    /// One acquisition in N is timed on average: often enough for a slow strategy's short
    /// slice to have quantiles, and what it adds is not in the throughput.
    static let samplingMean = 8

    func visit<ChosenStrategy: NamedStrategy>(
        _ strategy: ChosenStrategy.Type
    ) throws(MeasurementFailure) -> Output {
        guard isMetered else {
            return try submitting(nil) { ChosenStrategy() }
        }
        let meter = Self.meter(strategy)
        return try submitting(meter) { meter.metered(ChosenStrategy()) }
    }

    func visitBlocking<ChosenStrategy: NamedStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) throws(MeasurementFailure) -> Output {
        if ChosenStrategy.traits.appliesWritesAsynchronously {
            return try visit(strategy)
        }
        guard isMetered else {
            return try blocking(nil) { ChosenStrategy() }
        }
        let meter = Self.meter(strategy)
        return try blocking(meter) { meter.metered(ChosenStrategy()) }
    }

    private static func meter<ChosenStrategy: NamedStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> ContentionMeter {
        ContentionMeter(
            strategy,
            role: .comparison,
            level: .sampled,
            samplingMean: samplingMean
        )
    }

    private func submitting<ChosenStrategy: Strategy>(
        _ meter: ContentionMeter?,
        _ guarding: () -> ChosenStrategy
    ) throws(MeasurementFailure) -> Output {
        workload.keys == 1
            ? try submitting(striped(guarding, OneValue.self), meter)
            : try submitting(striped(guarding, ManyValues.self), meter)
    }

    private func submitting<Value: GuardedValues, ChosenStrategy: Strategy>(
        _ striped: Striped<Value, ChosenStrategy>,
        _ meter: ContentionMeter?
    ) throws(MeasurementFailure) -> Output {
        let cost = slice.cost
        let result = try run(meter) { SubmittingOperator(striped, cost) }
        return try output(striped, result, meter)
    }

    private func blocking<ChosenStrategy: BlockingStrategy>(
        _ meter: ContentionMeter?,
        _ guarding: () -> ChosenStrategy
    ) throws(MeasurementFailure) -> Output {
        workload.keys == 1
            ? try blocking(OneValue.self, meter, guarding)
            : try blocking(ManyValues.self, meter, guarding)
    }

    private func blocking<Value: GuardedValues, ChosenStrategy: BlockingStrategy>(
        _ value: Value.Type,
        _ meter: ContentionMeter?,
        _ guarding: () -> ChosenStrategy
    ) throws(MeasurementFailure) -> Output {
        let cost = slice.cost
        guard workload.stripes == 1 else {
            let striped = striped(guarding, value)
            let result = try run(meter) { BlockingOperator(striped, cost) }
            return try output(striped, result, meter)
        }
        let guarded = Synchronized(Value(count: workload.keys), strategy: guarding())
        let result = try run(meter) { OneStripeOperator(guarded, cost) }
        let stripes: [Value] = try bound.results(count: 1) {
            (_, completion) throws(BacklogFull) in
            try guarded.submitRead({ $0 }, completion: completion)
        }
        return output(stripes, result, meter)
    }

    /// Runs the threads.
    ///
    /// The meter is reset after the warm-up.
    private func run<Performer: Operator>(
        _ meter: ContentionMeter?,
        _ performer: @escaping @Sendable () -> Performer
    ) throws(MeasurementFailure) -> SliceResult {
        try slice.run(whenMeasuring: { meter?.reset() }, performer: performer)
    }

    private func striped<Value: GuardedValues, ChosenStrategy: Strategy>(
        _ guarding: () -> ChosenStrategy,
        _ value: Value.Type
    ) -> Striped<Value, ChosenStrategy> {
        Striped(count: workload.stripes, strategy: guarding) { stripe in
            Value(count: workload.keyCount(stripe: stripe))
        }
    }

    private func output<Value: GuardedValues, ChosenStrategy: Strategy>(
        _ striped: Striped<Value, ChosenStrategy>,
        _ result: SliceResult,
        _ meter: ContentionMeter?
    ) throws(MeasurementFailure) -> Output {
        let stripes: [Value] = try bound.results(count: workload.stripes) {
            (stripe, completion) throws(BacklogFull) in
            // Every strategy can be entered like this.
            try striped.submitRead(stripe, { $0 }, completion: completion)
        }
        return output(stripes, result, meter)
    }

    private var bound: BoundedWait { BoundedWait(isInterrupted: slice.isInterrupted) }

    private func output(
        _ stripes: [some GuardedValues],
        _ result: SliceResult,
        _ meter: ContentionMeter?
    ) -> Output {
        Output(
            result: result,
            wrongKeys: slice.wrongKeys(result, workload, stripes: stripes),
            contention: meter.map { ContentionReport.Row($0) }
        )
    }
}

extension Slice {
    /// The number of keys whose value does not match the writes of all threads.
    func wrongKeys<Value: GuardedValues>(
        _ result: SliceResult,
        _ workload: ComparisonReport.Workload,
        stripes: [Value]
    ) -> Int {
        wrongKeys(result, workload) { key in
            stripes[key % workload.stripes].value(key / workload.stripes)
        }
    }

    /// The same, of values wherever they are.
    func wrongKeys(
        _ result: SliceResult,
        _ workload: ComparisonReport.Workload,
        value: (_ key: Int) -> UInt64
    ) -> Int {
        var writes = [UInt64](repeating: 0, count: workload.keys)
        for (plan, tally) in zip(plans, result.tallies) {
            plan.addWrites(
                among: tally.operationsInAll,
                stripes: workload.stripes,
                to: &writes
            )
        }
        return writes.indices.count { key in
            let steps = writes[key] &* UInt64(cost.sectionSteps)
            return value(key) != cost.work.jump(startValue, steps: steps)
        }
    }
}
