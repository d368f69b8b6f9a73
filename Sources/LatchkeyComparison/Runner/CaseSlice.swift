public import LatchkeyContention
public import LatchkeyStrategies

/// What one slice of a strategy measures.
@usableFromInline
struct CaseSlice: Sendable {
    let slice: Slice
    let workload: ComparisonReport.Workload
    /// Whether contention is metered.
    ///
    /// The throughput comes from the slice without a meter.
    let isMetered: Bool

    /// The result of the slice, and whether the values are right.
    @usableFromInline
    struct Output: Sendable {
        var result: SliceResult
        /// The number of keys whose value does not match the writes, or of failed checks of a
        /// workload of one's own.
        var wrongCount: Int
        var contention: ContentionReport.Row?

        @usableFromInline
        init(_ result: SliceResult, wrongCount: Int, _ meter: ContentionMeter? = nil) {
            self.result = result
            self.wrongCount = wrongCount
            contention = meter.map { ContentionReport.Row($0) }
        }
    }

    /// One acquisition in N is timed on average: often enough for a slow strategy's short
    /// slice to have quantiles, and what it adds is not in the throughput.
    static let samplingMean = 8

    /// Measures one of our strategies on the built-in section.
    func run(_ kind: StrategyKind) throws(MeasurementFailure) -> Output {
        hasOneKey
            ? try kind.accept(SectionSlice(self, SyntheticSection<OneValue>(self)))
            : try kind.accept(SectionSlice(self, SyntheticSection<ManyValues>(self)))
    }

    /// Each slice has its own meter, if it has one.
    @usableFromInline
    func meter<ChosenStrategy: Strategy>(
        _ strategy: ChosenStrategy.Type,
        as name: String
    ) -> ContentionMeter? {
        guard isMetered else { return nil }
        return ContentionMeter(
            strategy,
            as: name,
            role: .comparison,
            level: .sampled,
            samplingMean: Self.samplingMean
        )
    }

    @usableFromInline var hasOneKey: Bool { workload.keys == 1 }

    @usableFromInline var stripes: Int { workload.stripes }

    @usableFromInline
    func keyCount(stripe: Int) -> Int { workload.keyCount(stripe: stripe) }

    /// Bounds the waits for the strategy after the threads have ended.
    @usableFromInline var bound: BoundedWait { slice.bound }

    /// Runs the threads.
    ///
    /// The meter is reset after the warm-up.
    @usableFromInline
    func threads(
        _ meter: ContentionMeter?,
        _ performer: @escaping @Sendable (_ thread: Int) -> AnyOperator
    ) throws(MeasurementFailure) -> SliceResult {
        try slice.run(
            whenMeasuring: { meter?.reset() },
            performer: { thread, _ in performer(thread) }
        )
    }
}

/// One slice of one strategy and section: builds what is guarded, runs the threads, checks the
/// result.
///
/// A visitor, so that all of it is compiled once for each strategy.
///
/// **Design.** The controlling thread makes the guarded value before the threads start and checks
/// it after they have ended; in between it belongs to the strategy.
@usableFromInline
struct SectionSlice<Guarded: Section>: StrategyVisitor {
    @usableFromInline typealias Failure = MeasurementFailure
    @usableFromInline typealias Output = CaseSlice.Output

    @usableFromInline let slice: CaseSlice
    @usableFromInline let section: Guarded

    @inlinable
    init(_ slice: CaseSlice, _ section: Guarded) {
        self.slice = slice
        self.section = section
    }

    @inlinable
    func visit<ChosenStrategy: MakeableStrategy>(
        _ strategy: ChosenStrategy.Type
    ) throws(MeasurementFailure) -> CaseSlice.Output {
        try submitting(ChosenStrategy.name) { ChosenStrategy() }
    }

    @inlinable
    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) throws(MeasurementFailure) -> CaseSlice.Output {
        try blocking(ChosenStrategy.name) { ChosenStrategy() }
    }

    /// Measures a strategy that can block, through the functions that programs would use.
    @inlinable
    func blocking<ChosenStrategy: BlockingStrategy>(
        _ name: String,
        _ make: () -> ChosenStrategy
    ) throws(MeasurementFailure) -> CaseSlice.Output {
        if ChosenStrategy.traits.appliesWritesAsynchronously {
            return try submitting(name, make)
        }
        guard let meter = slice.meter(ChosenStrategy.self, as: name) else {
            return try runBlocking(nil, make)
        }
        return try runBlocking(meter) { meter.metered(make()) }
    }

    /// Measures a strategy through its submitting functions.
    @inlinable
    func submitting<ChosenStrategy: Strategy>(
        _ name: String,
        _ make: () -> ChosenStrategy
    ) throws(MeasurementFailure) -> CaseSlice.Output {
        guard let meter = slice.meter(ChosenStrategy.self, as: name) else {
            return try runSubmitting(nil, make)
        }
        return try runSubmitting(meter) { meter.metered(make()) }
    }

    @inlinable
    func runSubmitting<ChosenStrategy: Strategy>(
        _ meter: ContentionMeter?,
        _ make: () -> ChosenStrategy
    ) throws(MeasurementFailure) -> CaseSlice.Output {
        let section = section
        let striped = striped(make)
        let result = try slice.threads(meter) { thread in
            AnyOperator(SubmittingOperator(striped, section.used(by: thread)))
        }
        return try output(striped, result, meter)
    }

    @inlinable
    func runBlocking<ChosenStrategy: BlockingStrategy>(
        _ meter: ContentionMeter?,
        _ make: () -> ChosenStrategy
    ) throws(MeasurementFailure) -> CaseSlice.Output {
        let section = section
        if Guarded.canBeStriped, slice.stripes > 1 {
            let striped = striped(make)
            let result = try slice.threads(meter) { thread in
                AnyOperator(BlockingOperator(striped, section.used(by: thread)))
            }
            return try output(striped, result, meter)
        }
        let guarded = Synchronized(
            section.value(keys: slice.keyCount(stripe: 0)),
            strategy: make()
        )
        let result = try slice.threads(meter) { thread in
            AnyOperator(OneStripeOperator(guarded, section.used(by: thread)))
        }
        let stripes: [Guarded.Value] = try slice.bound.results(count: 1) {
            (_, completion) throws(BacklogFull) in
            try guarded.submitRead({ $0 }, completion: completion)
        }
        return output(stripes, result, meter)
    }

    @inlinable
    func striped<ChosenStrategy: Strategy>(
        _ make: () -> ChosenStrategy
    ) -> Striped<Guarded.Value, ChosenStrategy> {
        Striped(count: slice.stripes, strategy: make) { stripe in
            section.value(keys: slice.keyCount(stripe: stripe))
        }
    }

    @inlinable
    func output<ChosenStrategy: Strategy>(
        _ striped: Striped<Guarded.Value, ChosenStrategy>,
        _ result: SliceResult,
        _ meter: ContentionMeter?
    ) throws(MeasurementFailure) -> CaseSlice.Output {
        let stripes: [Guarded.Value] = try slice.bound.results(count: slice.stripes) {
            (stripe, completion) throws(BacklogFull) in
            // Every strategy can be entered like this.
            try striped.submitRead(stripe, { $0 }, completion: completion)
        }
        return output(stripes, result, meter)
    }

    @inlinable
    func output(
        _ stripes: [Guarded.Value],
        _ result: SliceResult,
        _ meter: ContentionMeter?
    ) -> CaseSlice.Output {
        CaseSlice.Output(
            result,
            wrongCount: section.wrongCount(stripes, result, slice),
            meter
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
