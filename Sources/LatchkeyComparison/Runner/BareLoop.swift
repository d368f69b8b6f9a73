import CLatchkeySystem
import Glibc

/// The baseline `pthread-mutex`: one mutex, locked and unlocked around the work.
///
/// Written out in one loop that shares nothing with the way strategies are driven: no plan, no
/// stripes, no doors. Where the figures of `lock`, which is a pthread mutex too, agree with it,
/// the runner adds nothing to them. Whatever the keys and stripes of the workload are, this is
/// one mutex around one value, and reading excludes as writing does.
///
/// **Design.** The mutex guards the value; each thread counts for itself.
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
        unsafe value.initialize(to: slotStart)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
        unsafe value.deallocate()
    }

    /// The value, when no thread uses it any more.
    var result: UInt64 { unsafe value.pointee }

    /// What one thread does: until the stage ends, lock, work, unlock, work outside.
    func run(_ stage: Stage, _ board: StageBoard, _ cost: OperationCost) -> Int {
        var count = 0
        var outside: UInt64 = 1
        while board.isStill(stage) {
            unsafe pthread_mutex_lock(mutex)
            let left = unsafe cost.work.run(value.pointee, steps: cost.sectionSteps)
            unsafe value.pointee = left
            unsafe pthread_mutex_unlock(mutex)
            outside = cost.work.run(outside ^ left, steps: cost.outsideSteps)
            count += 1
        }
        Sink.keep(outside)
        return count
    }

    /// The same at a constant rate, the first one `offset` of an interval after the start.
    func run(
        _ stage: Stage,
        _ board: StageBoard,
        _ cost: OperationCost,
        interval: Double,
        offset: Double
    ) -> Int {
        var count = 0
        let start =
            stage == .measuring ? board.measuringSince : latchkey_system_nanoseconds()
        while board.isStill(stage) {
            let intended = UInt64(Double(start) + (Double(count) + offset) * interval)
            guard Pace.wait(until: intended, while: { board.isStill(stage) }) else { break }
            unsafe pthread_mutex_lock(mutex)
            unsafe value.pointee = cost.work.run(value.pointee, steps: cost.sectionSteps)
            unsafe pthread_mutex_unlock(mutex)
            Sink.keep(cost.work.run(1, steps: cost.outsideSteps))
            count += 1
        }
        return count
    }

    /// The whole life of one thread in a slice.
    func work(
        _ board: StageBoard,
        _ cost: OperationCost,
        interval: Double?,
        offset: Double
    ) -> WorkerTally {
        func loop(_ stage: Stage) -> Int {
            guard let interval else { return run(stage, board, cost) }
            return run(stage, board, cost, interval: interval, offset: offset)
        }
        board.arrive()
        while board.isStill(.arriving) {
            sched_yield()
        }
        var tally = WorkerTally()
        let warmUp = loop(.warmingUp)
        let usageBefore = Usage.thread
        tally.operations = loop(.measuring)
        let end = latchkey_system_nanoseconds()
        tally.usage = Usage.thread - usageBefore
        tally.nanoseconds = end > board.measuringSince ? end - board.measuringSince : 0
        tally.operationsInAll = warmUp + tally.operations
        return tally
    }
}
