import LatchkeySync

extension Slice {
    /// Runs the baseline `unsynchronized`, on the one thread of the slice.
    func unsynchronized(
        _ workload: ComparisonReport.Workload
    ) throws(SliceFailure) -> CaseSlice.Output {
        workload.keys == 1
            ? try unsynchronized(workload, OneSlot.self)
            : try unsynchronized(workload, ManySlots.self)
    }

    private func unsynchronized<Value: Slots>(
        _ workload: ComparisonReport.Workload,
        _: Value.Type
    ) throws(SliceFailure) -> CaseSlice.Output {
        let left = Synchronized<[Value], LockStrategy>([])
        let result = try run { thread, board in
            let stripes = (0..<workload.stripes).map { stripe in
                Value(count: workload.keyCount(stripe: stripe))
            }
            var worker = worker(thread, UnguardedOperator(stripes: stripes, cost))
            let tally = worker.run(board, cost: cost)
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
    func pthreadMutex() throws(SliceFailure) -> CaseSlice.Output {
        let mutex = BareMutex()
        let result = try run { thread, board in
            mutex.work(board, cost, interval: interval, offset: offset(thread))
        }
        // Each of its operations writes to the one value.
        let operations = result.tallies.reduce(0) { $0 + $1.operationsInAll }
        let steps = UInt64(operations) &* UInt64(cost.sectionSteps)
        let isRight = mutex.result == cost.work.jump(slotStart, steps: steps)
        return CaseSlice.Output(result: result, wrongKeys: isRight ? 0 : 1, contention: nil)
    }
}
