import Glibc

/// The baseline `bare-mutex`: one `pthread_mutex_t`, locked and unlocked around the work.
///
/// It shares only the loop around an operation with the strategies. Where the figures of the
/// strategy `pthread-mutex` agree with it, the library adds nothing to them. Whatever the keys and
/// stripes of the workload are, this is one mutex around one value, and reading excludes as writing
/// does.
///
/// **Design.** The mutex guards the value.
///
/// SAFETY: `@safe` because the class alone allocates and frees the mutex and the value, which the
/// threads of a slice use only between locking and unlocking, and only while the slice keeps the
/// class. `@unchecked Sendable` for the same reason.
@safe
final class BareMutex: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let value: UnsafeMutablePointer<UInt64>

    init() {
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        let code = unsafe pthread_mutex_init(mutex, nil)
        precondition(code == 0, "pthread_mutex_init failed with \(code).")
        unsafe value = .allocate(capacity: 1)
        unsafe value.initialize(to: startValue)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
        unsafe value.deallocate()
    }

    /// The value, when no thread uses it any more.
    var result: UInt64 { unsafe value.pointee }

    @inline(__always)
    func write(_ cost: OperationCost) -> UInt64 {
        unsafe pthread_mutex_lock(mutex)
        let left = unsafe cost.work.run(value.pointee, steps: cost.sectionSteps)
        unsafe value.pointee = left
        unsafe pthread_mutex_unlock(mutex)
        return left
    }
}

extension Slice {
    /// Runs the baseline `bare-mutex`.
    func bareMutex() throws(MeasurementFailure) -> SliceResult {
        let mutex = BareMutex()
        var result = try run { _, _ in AnyOperator(BareMutexOperator(mutex: mutex, cost: cost)) }
        // Each of its operations writes to the one value.
        let steps = UInt64(result.operationsInAll) &* UInt64(cost.sectionSteps)
        result.wrongCount = mutex.result == cost.work.jump(startValue, steps: steps) ? 0 : 1
        return result
    }
}

/// Does every operation on the one value of a bare mutex.
struct BareMutexOperator: Operator {
    let mutex: BareMutex
    let cost: OperationCost

    @inline(__always)
    mutating func perform(
        _ operation: PlannedOperation,
        number: Int,
        timing: ResponseTiming?
    ) -> UInt64 {
        defer { timing?.end() }
        return mutex.write(cost)
    }
}
