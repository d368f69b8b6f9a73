import LatchkeyStrategies

extension Slice {
    /// Runs the baseline `unsynchronized`, on the one thread of the slice.
    func unsynchronized(
        _ workload: ComparisonReport.Workload
    ) throws(MeasurementFailure) -> CaseSlice.Output {
        workload.keys == 1
            ? try unsynchronized(workload, OneValue.self)
            : try unsynchronized(workload, ManyValues.self)
    }

    private func unsynchronized<Value: GuardedValues>(
        _ workload: ComparisonReport.Workload,
        _: Value.Type
    ) throws(MeasurementFailure) -> CaseSlice.Output {
        let left = Guarded<[Value]>([])
        let result = try run { thread, clock in
            let stripes = (0..<workload.stripes).map { stripe in
                Value(count: workload.keyCount(stripe: stripe))
            }
            var worker = Worker(self, thread: thread, UnguardedOperator(stripes: stripes, cost))
            let tally = worker.run(clock)
            left.write { [stripes = worker.performer.stripes] in $0 = stripes }
            return tally
        }
        return CaseSlice.Output(
            result: result,
            wrongKeys: wrongKeys(result, workload, stripes: left.read { $0 }),
            contention: nil
        )
    }

    /// Runs the baseline `pthread-mutex`.
    func pthreadMutex() throws(MeasurementFailure) -> CaseSlice.Output {
        let mutex = BareMutex()
        let result = try run { BareMutexOperator(mutex: mutex, cost: cost) }
        // Each of its operations writes to the one value.
        let steps = UInt64(result.operationsInAll) &* UInt64(cost.sectionSteps)
        let isRight = mutex.result == cost.work.jump(startValue, steps: steps)
        return CaseSlice.Output(result: result, wrongKeys: isRight ? 0 : 1, contention: nil)
    }
}
