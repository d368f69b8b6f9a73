public import LatchkeyContention
public import LatchkeyStrategies

/// Measures a slice of one section: builds the guarded values, runs the threads, checks the result.
///
/// A visitor, so that the loop of an operator is compiled for each strategy. Besides the loop, only
/// the code that makes the operator is: ``run(_:_:_:)`` and all that it calls know no strategy.
///
/// **Design.** The controlling thread makes the guarded value before the threads start and checks
/// it after they have ended; in between it belongs to the strategy.
@usableFromInline
struct SliceRunner<Guarded: Section>: StrategyVisitor {
    @usableFromInline typealias Failure = MeasurementFailure
    @usableFromInline typealias Output = SliceResult
    /// Gives the value of a stripe to the completion.
    @usableFromInline typealias Reading =
        @Sendable (_ stripe: Int, _ completion: @escaping @Sendable (Guarded.Value) -> Void)
        throws(BacklogFull) -> Void

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

    /// No lock applies writes later, so nothing is compiled for that.
    @inlinable
    func visitLock<Lock: NamedLock>(
        _ strategy: RawLockStrategy<Lock>.Type
    ) throws(MeasurementFailure) -> SliceResult {
        try inPlace(RawLockStrategy<Lock>.name) { RawLockStrategy<Lock>() }
    }

    /// Measures a strategy that can block, through the functions that programs would use.
    @inlinable
    func blocking<ChosenStrategy: BlockingStrategy>(
        _ name: String,
        _ make: () -> ChosenStrategy
    ) throws(MeasurementFailure) -> SliceResult {
        ChosenStrategy.traits.appliesWritesAsynchronously
            ? try submitting(name, make) : try inPlace(name, make)
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

    /// Measures a strategy whose calls return when the access is over.
    @inlinable
    func inPlace<ChosenStrategy: BlockingStrategy>(
        _ name: String,
        _ make: () -> ChosenStrategy
    ) throws(MeasurementFailure) -> SliceResult {
        if let meter = slice.meter(ChosenStrategy.traits, as: name) {
            let (striped, reading) = striped { meter.metered(make()) }
            return try run(meter, reading) { AnyOperator(BlockingOperator(striped, $0)) }
        }
        let (striped, reading) = striped(make)
        if Guarded.canBeStriped, slice.stripes > 1 {
            return try run(nil, reading) { AnyOperator(BlockingOperator(striped, $0)) }
        }
        let guarded = striped[0]
        return try run(nil, reading) { AnyOperator(OneStripeOperator(guarded, $0)) }
    }

    @inlinable
    func runSubmitting<ChosenStrategy: Strategy>(
        _ meter: ContentionMeter?,
        _ make: () -> ChosenStrategy
    ) throws(MeasurementFailure) -> SliceResult {
        let (striped, reading) = striped(make)
        return try run(meter, reading) { section in
            AnyOperator(
                SubmittingOperator { (operation, number, completion) throws(BacklogFull) in
                    if operation.isWrite {
                        try striped.submitWrite(
                            operation.stripe,
                            { section.write(&$0, operation, number: number) },
                            completion: completion
                        )
                    } else {
                        try striped.submitRead(
                            operation.stripe,
                            { section.read($0, operation, number: number) },
                            completion: completion
                        )
                    }
                }
            )
        }
    }

    /// The baseline `unsynchronized`, on the one thread of the slice.
    @inlinable
    func unsynchronized() throws(MeasurementFailure) -> SliceResult {
        let (left, reading) = striped { PthreadMutexStrategy() }
        let values = (0..<left.count).map { left.read($0) { $0 } }
        return try run(nil, reading) { section in
            AnyOperator(UnguardedOperator(stripes: values, section)) { performer in
                for (stripe, value) in performer.stripes.enumerated() {
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
    ) -> (Striped<Guarded.Value, ChosenStrategy>, Reading) {
        let striped = Striped(count: slice.stripes, strategy: make) { stripe in
            section.value(keys: slice.keyCount(stripe: stripe))
        }
        return (
            striped,
            { (stripe, completion) throws(BacklogFull) in
                try striped.submitRead(stripe, { $0 }, completion: completion)
            }
        )
    }

    /// Runs the threads, and checks the values that they leave.
    @usableFromInline
    func run(
        _ meter: ContentionMeter?,
        _ reading: @escaping Reading,
        _ performer: @escaping @Sendable (Guarded) -> AnyOperator
    ) throws(MeasurementFailure) -> SliceResult {
        let section = section
        var result = try slice.run(meter) { thread, _ in performer(section.used(by: thread)) }
        let values = try slice.bound.results(count: slice.stripes, reading)
        result.wrongCount = section.wrongCount(values, result, slice)
        return result
    }
}
