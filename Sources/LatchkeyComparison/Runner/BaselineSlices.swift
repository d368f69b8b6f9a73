import LatchkeyStrategies

extension CaseSlice {
    /// Runs the baseline `unsynchronized`, on the one thread of the slice.
    func unsynchronized() throws(MeasurementFailure) -> Output {
        hasOneKey
            ? try unsynchronized(SyntheticSection<OneValue>(self))
            : try unsynchronized(SyntheticSection<ManyValues>(self))
    }

    @inlinable
    func unsynchronized<Guarded: Section>(
        _ section: Guarded
    ) throws(MeasurementFailure) -> Output {
        let stripes = (0..<stripes).map { section.value(keys: keyCount(stripe: $0)) }
        let left = LeftValues<Guarded.Value>()
        let result = try threads(nil) { _ in
            AnyOperator(UnguardedOperator(stripes: stripes, section)) { left.put($0.stripes) }
        }
        let found = left.taken
        return Output(result, wrongCount: section.wrongCount(found, result, self))
    }

    /// Runs the baseline `bare-mutex`.
    func bareMutex() throws(MeasurementFailure) -> Output {
        let mutex = BareMutex()
        let cost = slice.cost
        let result = try threads(nil) { _ in
            AnyOperator(BareMutexOperator(mutex: mutex, cost: cost))
        }
        // Each of its operations writes to the one value.
        let steps = UInt64(result.operationsInAll) &* UInt64(cost.sectionSteps)
        let isRight = mutex.result == cost.work.jump(startValue, steps: steps)
        return Output(result, wrongCount: isRight ? 0 : 1)
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
