public import LatchkeyContention
public import LatchkeyStrategies

/// One slice of one strategy and section: builds what is guarded, runs the threads, checks the
/// result.
///
/// A visitor, so that the loop of an operator is compiled for each strategy. Only what makes the
/// operator is, too: ``run(_:_:_:)`` and all that it calls know no strategy.
///
/// **Design.** The controlling thread makes the guarded value before the threads start and checks
/// it after they have ended; in between it belongs to the strategy.
@usableFromInline
struct SectionSlice<Guarded: Section>: StrategyVisitor {
    @usableFromInline typealias Failure = MeasurementFailure
    @usableFromInline typealias Output = SliceResult

    @usableFromInline let slice: Slice
    @usableFromInline let section: Guarded

    @inlinable
    init(_ slice: Slice, _ section: Guarded) {
        self.slice = slice
        self.section = section
    }

    @inlinable
    func visit<ChosenStrategy: MakeableStrategy>(
        _ strategy: ChosenStrategy.Type
    ) throws(MeasurementFailure) -> SliceResult {
        try submitting(ChosenStrategy.name) { ChosenStrategy() }
    }

    @inlinable
    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) throws(MeasurementFailure) -> SliceResult {
        try blocking(ChosenStrategy.name) { ChosenStrategy() }
    }

    /// Measures a strategy that can block, through the functions that programs would use.
    @inlinable
    func blocking<ChosenStrategy: BlockingStrategy>(
        _ name: String,
        _ make: () -> ChosenStrategy
    ) throws(MeasurementFailure) -> SliceResult {
        if ChosenStrategy.traits.appliesWritesAsynchronously {
            return try submitting(name, make)
        }
        guard let meter = slice.meter(ChosenStrategy.traits, as: name) else {
            return try runBlocking(nil, make)
        }
        return try runBlocking(meter) { meter.metered(make()) }
    }

    /// Measures a strategy through its submitting functions.
    @inlinable
    func submitting<ChosenStrategy: Strategy>(
        _ name: String,
        _ make: () -> ChosenStrategy
    ) throws(MeasurementFailure) -> SliceResult {
        guard let meter = slice.meter(ChosenStrategy.traits, as: name) else {
            return try runSubmitting(nil, make)
        }
        return try runSubmitting(meter) { meter.metered(make()) }
    }

    @inlinable
    func runBlocking<ChosenStrategy: BlockingStrategy>(
        _ meter: ContentionMeter?,
        _ make: () -> ChosenStrategy
    ) throws(MeasurementFailure) -> SliceResult {
        let (striped, finals) = striped(make)
        if Guarded.canBeStriped, finals.count > 1 {
            return try run(meter, finals) { AnyOperator(BlockingOperator(striped, $0)) }
        }
        let guarded = striped[0]
        return try run(meter, finals) { AnyOperator(OneStripeOperator(guarded, $0)) }
    }

    @inlinable
    func runSubmitting<ChosenStrategy: Strategy>(
        _ meter: ContentionMeter?,
        _ make: () -> ChosenStrategy
    ) throws(MeasurementFailure) -> SliceResult {
        let (striped, finals) = striped(make)
        return try run(meter, finals) { section in
            let window = SubmissionWindow()
            return AnyOperator(SubmittingOperator(striped, section, window), window: window)
        }
    }

    /// The baseline `unsynchronized`, on the one thread of the slice.
    @inlinable
    func unsynchronized() throws(MeasurementFailure) -> SliceResult {
        let (left, finals) = striped { PthreadMutexStrategy() }
        let values = (0..<left.count).map { left.read($0) { $0 } }
        return try run(nil, finals) { section in
            AnyOperator(UnguardedOperator(stripes: values, section)) { values in
                for (stripe, value) in values.enumerated() {
                    left.write(stripe) { $0 = value }
                }
            }
        }
    }

    /// The guarded values of the slice.
    ///
    /// Compiled once, and not for each strategy, since it is called once for each slice.
    @usableFromInline
    @_semantics("optimize.sil.specialize.generic.never")
    func striped<ChosenStrategy: Strategy>(
        _ make: () -> ChosenStrategy
    ) -> (Striped<Guarded.Value, ChosenStrategy>, [FinalValue<Guarded.Value>]) {
        let striped = Striped(count: slice.stripes, strategy: make) { stripe in
            section.value(keys: slice.keyCount(stripe: stripe))
        }
        let finals = (0..<striped.count).map {
            FinalValue(guarded: striped[$0].guarded, strategy: striped[$0].strategy)
        }
        return (striped, finals)
    }

    /// Runs the threads, and checks the values that they leave.
    @usableFromInline
    func run(
        _ meter: ContentionMeter?,
        _ finals: [FinalValue<Guarded.Value>],
        _ performer: @escaping @Sendable (Guarded) -> AnyOperator
    ) throws(MeasurementFailure) -> SliceResult {
        let section = section
        var result = try slice.run(meter) { thread, _ in performer(section.used(by: thread)) }
        let values = try slice.bound.results(count: finals.count) {
            (stripe, completion) throws(BacklogFull) in
            try finals[stripe].read(completion)
        }
        result.wrongCount = section.wrongCount(values, result, slice)
        return result
    }
}

/// The value of a stripe after a slice.
@usableFromInline
struct FinalValue<Value: Sendable>: Sendable {
    let guarded: GuardedValue<Value>
    let strategy: any Strategy

    func read(_ completion: @escaping @Sendable (Value) -> Void) throws(BacklogFull) {
        try read(strategy, completion)
    }

    /// Every strategy can be entered like this.
    private func read(
        _ strategy: some Strategy,
        _ completion: @escaping @Sendable (Value) -> Void
    ) throws(BacklogFull) {
        try Synchronized(guarded, strategy).submitRead({ $0 }, completion: completion)
    }
}
