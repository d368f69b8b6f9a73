/// The work of an operation inside the guarded section, and its value.
///
/// A generic type for each, so that the loop around an operation is compiled once for each strategy
/// and section, without dynamic dispatch. That happens in the module that names the types: this one
/// for our strategies, and the user's for a strategy or a workload of their own. So the functions
/// that the loop calls are inlinable.
@usableFromInline
protocol Section: Sendable {
    associatedtype Value: Sendable

    /// Whether there can be several stripes; if not, the code for them is left out.
    static var canBeStriped: Bool { get }

    /// The value that a stripe with this many keys begins with.
    func value(keys: Int) -> Value

    /// The section as this thread uses it.
    func used(by thread: Int) -> Self

    /// Reads, and returns something that the work outside depends on.
    ///
    /// The number is the operation's among those of its thread, from 0.
    func read(_ value: Value, _ operation: PlannedOperation, number: Int) -> UInt64

    /// Changes the value, and returns something that the work outside depends on.
    func write(_ value: inout Value, _ operation: PlannedOperation, number: Int) -> UInt64

    /// The number of errors in the values after a slice.
    func wrongCount(_ stripes: [Value], _ result: SliceResult, _ slice: Slice) -> Int
}

/// The section of `latchkey compare`: some steps of work on a key's number.
@usableFromInline
struct SyntheticSection<Values: GuardedValues>: Section {
    @usableFromInline let work: Work
    @usableFromInline let steps: Int

    @usableFromInline
    init(_ slice: Slice) {
        work = slice.cost.work
        steps = slice.cost.sectionSteps
    }

    @inlinable static var canBeStriped: Bool { Values.canBeStriped }

    @inlinable
    func value(keys: Int) -> Values { Values(count: keys) }

    @inlinable
    func used(by thread: Int) -> Self { self }

    @inlinable
    @inline(__always)
    func read(_ value: Values, _ operation: PlannedOperation, number: Int) -> UInt64 {
        value.read(operation.slot, work: work, steps: steps)
    }

    @inlinable
    @inline(__always)
    func write(_ value: inout Values, _ operation: PlannedOperation, number: Int) -> UInt64 {
        value.write(operation.slot, work: work, steps: steps)
    }

    @usableFromInline
    func wrongCount(_ stripes: [Values], _ result: SliceResult, _ slice: Slice) -> Int {
        slice.wrongKeys(result) { stripes[$0 % stripes.count].value($0 / stripes.count) }
    }
}
