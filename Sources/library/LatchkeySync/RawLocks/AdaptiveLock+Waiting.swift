internal import CLatchkeySystem
internal import Synchronization

#if os(Linux)
// Waiting with a deadline, and waiting for a condition.
//
// **Design.** Waiting for the lock itself with a deadline is the slow path of `lock()` with a
// limited sleep. A thread gives up only after it found the lock held and marked the word
// `contended` or `starving`. So the holder wakes another sleeper, even if the kernel had chosen the
// one that gave up.
//
// Threads that wait for a condition stand in a `ConditionLine`. A thread that releases the lock
// after a write asks their conditions, since only a write can make one hold, and wakes the threads
// that the line chooses. A chosen thread takes the lock like any other. The second word says
// whether there is anything to ask. Only the holder of the lock writes it, so relaxed order is
// enough.
//
// | word        | meaning                         | becomes                                      |
// |-------------|---------------------------------|----------------------------------------------|
// | 0           | no task waits, and no thread,   | `isAwaited`, by a holder that joins the line |
// |             | or a chosen one has not had the | or that had been chosen                      |
// |             | lock yet                        |                                              |
// | `isAwaited` | tasks may wait, or threads none | 0, by a holder that lets go after a write,   |
// |             | of which is chosen              | if it chose one or the line is empty         |
//
// While a chosen thread is on its way, writes ask no other one: it asks when it releases the lock.
// While no thread waits, a write costs one look at a word beside the lock's.

extension AdaptiveLock: ConditionLock {
    /// The promise.
    @inlinable public static var timedLockPromise: Promise<Self> { unsafe .unchecked() }

    /// The promise.
    @inlinable public static var conditionLockPromise: Promise<Self> { unsafe .unchecked() }

    @usableFromInline static var isAwaited: UInt32 { 1 }

    /// Waits until the calling thread holds the lock, or until the deadline.
    @inlinable public func lock(before deadline: ContinuousClock.Instant) -> Bool {
        tryLock() || lockSlowly(before: deadline)
    }

    /// Releases the lock, and waits until the calling thread holds it and the condition holds.
    public func wait(
        to mode: AccessMode,
        until condition: @Sendable () -> Bool,
        before deadline: ContinuousClock.Instant?
    ) -> Bool {
        withoutActuallyEscaping(condition) { condition in
            let waiter = ConditionWaiter(mode, condition)
            // It is in no line any more, so no other thread asks.
            defer { waiter.condition = nil }
            return wait(as: waiter, before: deadline)
        }
    }

    /// Releases the lock, and suspends the task until its thread holds it and the condition holds.
    public nonisolated(nonsending) func wait(
        to mode: AccessMode,
        until condition: @escaping @Sendable () -> Bool
    ) async -> Bool {
        let task = SleepingTask(in: TaskPlace(on: #isolation))
        let waiter = ConditionWaiter(mode, condition, task)
        defer { waiter.condition = nil }
        let line = conditionLine()
        var isCountedOn = false
        repeat {
            change(line) { $0.append(waiter) }
            if isCountedOn {
                unlock()
            } else {
                unlockUnchanged()
            }
            guard await task.sleep() else {
                line.abandon(waiter)
                return false
            }
            lock()
            isCountedOn = change(line) { $0.remove(waiter) }
        } while !waiter.conditionHolds()
        return true
    }

    /// The line, which the first use makes; the caller holds the lock.
    private func conditionLine() -> ConditionLine {
        let line = memory.conditionLine ?? ConditionLine()
        if memory.line == nil {
            memory.line = line
        }
        return line
    }

    private func wait(
        as waiter: ConditionWaiter,
        before deadline: ContinuousClock.Instant?
    ) -> Bool {
        let line = conditionLine()
        // Whether others rely on this thread to choose when it releases the lock.
        var isCountedOn = false
        repeat {
            let isOver = deadline.map { $0 <= .now } ?? false
            if !isOver {
                change(line) { $0.append(waiter) }
            }
            if isCountedOn {
                unlock()
            } else {
                unlockUnchanged()
            }
            if isOver { return false }
            waiter.sleep(before: deadline)
            guard lock(atMostUntil: deadline) else {
                line.abandon(waiter)
                return false
            }
            isCountedOn = change(line) { $0.remove(waiter) }
        } while !waiter.conditionHolds()
        return true
    }

    @usableFromInline func lockSlowly(before deadline: ContinuousClock.Instant) -> Bool {
        polls() || sleeps(before: deadline)
    }

    /// Releases the lock after a write that may fulfil a condition.
    @usableFromInline func unlockChanged() {
        // The threads are woken when they can have the lock.
        let chosen = memory.conditionLine.map { change($0) { $0.choose() } }
        unlockUnchanged()
        for waiter in chosen ?? [] {
            waiter.wake()
        }
    }

    /// Changes the line, and notes whether it has to be asked; the caller holds the lock.
    private func change<Result>(
        _ line: ConditionLine,
        _ body: (ConditionLine) -> Result
    ) -> Result {
        line.lock.lock()
        defer {
            memory.second.store(line.isToBeAsked ? Self.isAwaited : 0, ordering: .relaxed)
            line.lock.unlock()
        }
        return body(line)
    }
}

extension LockMemory {
    /// The line, if a wait has made one.
    fileprivate var conditionLine: ConditionLine? {
        // SAFETY: nothing else is kept there.
        line.map { unsafe unsafeDowncast($0, to: ConditionLine.self) }
    }
}
#endif
