public import LatchkeyContention
public import LatchkeyStrategies

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
    ) throws(MeasurementFailure) -> SliceResult {
        guard let meter = slice.meter(ChosenStrategy.self, as: name) else {
            return try run(nil, striped(make)) { AnyOperator(SubmittingOperator($0, $1)) }
        }
        let striped = striped { meter.metered(make()) }
        return try run(meter, striped) { AnyOperator(SubmittingOperator($0, $1)) }
    }

    @inlinable
    func runBlocking<ChosenStrategy: BlockingStrategy>(
        _ meter: ContentionMeter?,
        _ make: () -> ChosenStrategy
    ) throws(MeasurementFailure) -> SliceResult {
        if Guarded.canBeStriped, slice.stripes > 1 {
            return try run(meter, striped(make)) { AnyOperator(BlockingOperator($0, $1)) }
        }
        let guarded = Synchronized(
            section.value(keys: slice.keyCount(stripe: 0)),
            strategy: make()
        )
        return try run(meter, stripes: 1) { section in
            AnyOperator(OneStripeOperator(guarded, section))
        } read: { (_, completion) throws(BacklogFull) in
            try guarded.submitRead({ $0 }, completion: completion)
        }
    }

    /// The baseline `unsynchronized`, on the one thread of the slice.
    @inlinable
    func unsynchronized() throws(MeasurementFailure) -> SliceResult {
        let stripes = (0..<slice.stripes).map { section.value(keys: slice.keyCount(stripe: $0)) }
        let left = LeftValues<Guarded.Value>()
        return try run(nil, stripes: stripes.count) { section in
            AnyOperator(UnguardedOperator(stripes: stripes, section)) { left.put($0.stripes) }
        } read: { stripe, completion in
            completion(left.taken[stripe])
        }
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
    func run<ChosenStrategy: Strategy>(
        _ meter: ContentionMeter?,
        _ striped: Striped<Guarded.Value, ChosenStrategy>,
        _ performer:
            @escaping @Sendable (Striped<Guarded.Value, ChosenStrategy>, Guarded) -> AnyOperator
    ) throws(MeasurementFailure) -> SliceResult {
        try run(meter, stripes: slice.stripes) { section in
            performer(striped, section)
        } read: { (stripe, completion) throws(BacklogFull) in
            // Every strategy can be entered like this.
            try striped.submitRead(stripe, { $0 }, completion: completion)
        }
    }

    /// Runs the threads, and checks the values that `read` gives for each stripe.
    @usableFromInline
    func run(
        _ meter: ContentionMeter?,
        stripes: Int,
        performer: @escaping @Sendable (Guarded) -> AnyOperator,
        read:
            @escaping @Sendable (
                _ stripe: Int, _ completion: @escaping @Sendable (Guarded.Value) -> Void
            ) throws(BacklogFull) -> Void
    ) throws(MeasurementFailure) -> SliceResult {
        let section = section
        var result = try slice.run(meter) { thread, _ in performer(section.used(by: thread)) }
        let values: [Guarded.Value] = try slice.bound.results(count: stripes, read)
        result.wrongCount = section.wrongCount(values, result, slice)
        return result
    }
}

/// The values that the thread of a baseline leaves.
@usableFromInline
final class LeftValues<Value: Sendable>: Sendable {
    private let values = Guarded<[Value]>([])

    @usableFromInline
    init() {}

    @usableFromInline
    func put(_ stripes: [Value]) { values.write { $0 = stripes } }

    @usableFromInline var taken: [Value] { values.read { $0 } }
}
