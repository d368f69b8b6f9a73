import CLatchkeySystem
import Glibc
import LatchkeyMachine

/// The work that one thread did in a slice.
struct WorkerTally: Sendable {
    /// Operations while the slice was measured.
    ///
    /// A thread that is still waiting for its first operation has 0.
    var operations = 0
    /// From the start of measuring to the end of the last operation.
    var nanoseconds: UInt64 = 0
    /// Warm-up included.
    var operationsInAll = 0
    var refused = 0
    var usage = Usage()
    var futexCalls: Int?
    var systemCalls: Int?
    /// Operations that were due and had not begun when the slice ended, in an open loop.
    var unbegun: UnbegunOperations?

    var operationsPerSecond: Double {
        nanoseconds > 0 ? Double(operations) * 1e9 / Double(nanoseconds) : 0
    }
}

/// The life of one thread in a slice: start line, warm-up, measuring, end.
struct Worker {
    private let performer: AnyOperator
    private let slice: Slice
    private let plan: OperationPlan
    /// The part of the first interval of an open loop after which this thread begins, from 0 to 1,
    /// so that the threads' operations alternate.
    private let offset: Double

    private var state: LoopState

    /// The worker with this number, from 0.
    init(_ slice: Slice, thread: Int, _ performer: AnyOperator) {
        self.performer = performer
        self.slice = slice
        plan = slice.plans[thread]
        state = LoopState(plan.operations, slice.cost)
        offset = Double(thread) / Double(slice.threads)
    }

    /// Runs from the start line to the end, on the calling thread.
    mutating func run(_ clock: StageClock) -> WorkerTally {
        let calls = slice.counter?.begin()
        clock.arrive()
        while clock.isStill(.arriving) {
            sched_yield()
        }
        loop(.warmingUp, clock)
        performer.window?.drain()
        var tally = WorkerTally()
        let before = state.position
        let callsBefore = calls?.read()
        let usageBefore = Usage.thread
        loop(.measuring, clock)
        performer.window?.drain()
        let end = latchkey_system_nanoseconds()
        tally.usage = Usage.thread - usageBefore
        if let callsBefore, let callsAfter = calls?.read() {
            tally.futexCalls = callsAfter.futex - callsBefore.futex
            tally.systemCalls = callsAfter.all - callsBefore.all
        }
        calls?.end()
        let since = clock.measuringSince
        tally.operations = state.position - before
        tally.unbegun = unbegun(after: tally.operations, since: since, until: clock.measuredUntil)
        tally.nanoseconds = since > 0 && end > since ? end - since : 0
        tally.operationsInAll = state.position
        tally.refused = performer.window?.refusedCount ?? 0
        Sink.keep(state.outside)
        performer.finish()
        return tally
    }

    private mutating func loop(_ stage: Stage, _ clock: StageClock) {
        if let pace = slice.pace {
            openLoop(stage, clock, pace)
        } else if clock.isStill(stage) {
            performer.loop(stage.rawValue, clock, &state, nil)
        }
    }

    /// When the next operation is due, after `done` others of the stage.
    private func intended(_ pace: Pace, _ stage: Stage, _ start: UInt64, _ done: Int) -> UInt64 {
        switch pace {
        case .constant(let interval):
            return UInt64(Double(start) + (Double(done) + offset) * interval)
        case .recorded:
            // The warm-up replays the beginning of the trace, and measuring goes on there.
            let replayed = stage == .measuring ? slice.warmUpNanoseconds : 0
            let due = start + plan.dueNanoseconds(state.position)
            return due > replayed ? due - replayed : 0
        }
    }

    /// Operations that were due in the slice and did not begin.
    ///
    /// Those of a trace are recorded one by one instead: each has a time of its own.
    private func unbegun(
        after done: Int,
        since start: UInt64,
        until end: UInt64
    ) -> UnbegunOperations? {
        guard let pace = slice.pace else { return nil }
        let first = intended(pace, .measuring, start, done)
        if case .constant(let interval) = pace {
            return UnbegunOperations(firstIntendedAt: first, interval: interval, until: end)
        }
        guard !plan.operations.isEmpty else { return nil }
        let base = first - plan.dueNanoseconds(state.position)
        var late = state.position
        while base + plan.dueNanoseconds(late) < end {
            slice.responses.fromIntended.record(end - base - plan.dueNanoseconds(late))
            late += 1
        }
        return nil
    }

    /// One operation at each intended start, or as soon after it as the last one has ended.
    ///
    /// Operations are due from the common start on, whenever this thread gets there: a stall
    /// that began during the warm-up delays it as well.
    private mutating func openLoop(
        _ stage: Stage,
        _ clock: StageClock,
        _ pace: Pace
    ) {
        let start =
            stage == .measuring ? clock.measuringSince : latchkey_system_nanoseconds()
        let count = plan.operations.count
        var done = 0
        // More threads than a short trace has operations: some have none.
        while count > 0, clock.isStill(stage) {
            let intended = intended(pace, stage, start, done)
            guard Pace.wait(until: intended, while: { clock.isStill(stage) }) else { break }
            let timing =
                stage == .measuring
                ? ResponseTiming(
                    intendedAt: intended,
                    startedAt: latchkey_system_nanoseconds(),
                    responses: slice.responses
                ) : nil
            // That stage is over: one operation.
            performer.loop(Stage.arriving.rawValue, clock, &state, timing)
            done += 1
        }
    }
}

/// When the operations of an open loop are due.
enum Pace: Sendable {
    /// `interval` nanoseconds after the thread's operation before.
    case constant(interval: Double)
    /// At the times of the thread's plan.
    case recorded

    /// The kernel wakes a sleeping thread about fifty microseconds late, so this much is polled.
    static let pollNanoseconds: UInt64 = 80_000
    /// The longest sleep, so that the end of the slice is seen.
    static let sleepMaxNanoseconds: UInt64 = 5_000_000

    /// Returns at that time, or with false when `condition` becomes false before.
    static func wait(until time: UInt64, while condition: () -> Bool) -> Bool {
        while true {
            let now = latchkey_system_nanoseconds()
            if now >= time {
                return true
            }
            guard condition() else { return false }
            let left = time - now
            if left > pollNanoseconds {
                usleep(UInt32(min(left - pollNanoseconds, sleepMaxNanoseconds) / 1_000))
            } else {
                // Polling must not keep another worker from running.
                sched_yield()
            }
        }
    }
}
