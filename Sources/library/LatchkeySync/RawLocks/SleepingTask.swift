#if os(Linux)
/// The executors that a task needs to go on, which others may keep busy.
struct TaskPlace: Equatable {
    /// The serial executor of its actor; nil for one that has none of its own and needs a pool.
    private let serial: ObjectIdentifier?
    /// The pool that the task prefers.
    private let pool: ObjectIdentifier?

    /// The place of the calling task.
    init(on actor: (any Actor)?) {
        // SAFETY: the executors are compared, and not kept. An actor without an executor of its own
        // is its own executor.
        let executor = unsafe actor?.unownedExecutor.asSerialExecutor()
        let preferred = unsafe withUnsafeCurrentTask { unsafe $0?.unownedTaskExecutor }
        serial = executor.flatMap { $0 === actor ? nil : ObjectIdentifier($0) }
        pool = unsafe preferred?.asTaskExecutor().map { ObjectIdentifier($0) }
    }
}

/// A task that sleeps until another thread wakes it, or until it is cancelled.
///
/// The task alone calls ``sleep()``, and once for each wake-up. The lock is never held while a task
/// is resumed.
///
/// SAFETY: `@unchecked Sendable` because `state` is used only while `lock` is held.
final class SleepingTask: @unchecked Sendable {
    private enum State {
        case awake
        case asleep(CheckedContinuation<Void, Never>)
        case woken
        case cancelled
    }

    let place: TaskPlace
    private let lock = AdaptiveLock()
    private var state = State.awake

    init(in place: TaskPlace) {
        self.place = place
    }

    /// Sleeps, unless the wake-up came before; false if the task was cancelled first.
    nonisolated(nonsending) func sleep() async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { fallAsleep($0) }
        } onCancel: {
            end(.cancelled)
        }
        return isWoken()
    }

    /// Ends the sleep, now or as soon as it begins.
    func wake() { end(.woken) }

    private func fallAsleep(_ continuation: CheckedContinuation<Void, Never>) {
        lock.lock()
        guard case .awake = state else {
            lock.unlock()
            return continuation.resume()
        }
        state = .asleep(continuation)
        lock.unlock()
    }

    /// Only the first end has an effect.
    private func end(_ ended: State) {
        lock.lock()
        let old = state
        switch old {
        case .awake, .asleep: state = ended
        case .woken, .cancelled: break
        }
        lock.unlock()
        if case .asleep(let continuation) = old {
            continuation.resume()
        }
    }

    private func isWoken() -> Bool {
        lock.lock()
        defer { lock.unlock() }
        guard case .woken = state else { return false }
        state = .awake
        return true
    }
}
#endif
