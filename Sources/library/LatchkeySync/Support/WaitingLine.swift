internal import Synchronization

/// Tasks that wait for room in a ``Backlog``, the longest waiting first, and those that wait until
/// an actor is no longer held.
///
/// **Design.** A task that is cancelled leaves the list in one step. The lock is held while the
/// list changes, never while a task is resumed.
///
/// SAFETY: `@unchecked Sendable` because `tasks` and the tasks in it are used only while `lock` is
/// held, and `untilReleased` only by the actor.
@usableFromInline final class WaitingLine: @unchecked Sendable {
    let lock = AdaptiveLock()
    var tasks = LinkedList<WaitingTask>()

    /// Those that an actor's holder lets in.
    var untilReleased: [CheckedContinuation<Void, Never>] = []
}

/// One task in a ``WaitingLine``.
///
/// SAFETY: `@unchecked Sendable` because it is used only while the line's lock is held.
final class WaitingTask: Linked, @unchecked Sendable {
    enum State {
        case arriving
        case waiting(CheckedContinuation<Bool, Never>)
        case gone
    }

    let mode: AccessMode
    var state = State.arriving
    var previous: WaitingTask?
    var next: WaitingTask?

    init(_ mode: AccessMode) {
        self.mode = mode
    }

    /// Leaves the state in which it waits.
    func takeContinuation() -> CheckedContinuation<Bool, Never>? {
        defer { state = .gone }
        guard case .waiting(let continuation) = state else { return nil }
        return continuation
    }
}

extension Backlog {
    /// Waits in the line until the caller is counted, if it wants to; first come, first served.
    ///
    /// - Throws: ``AccessRefused/cancelled`` as soon as the task is cancelled.
    @usableFromInline
    nonisolated(nonsending)
        func wait(_ mode: AccessMode, _ whenFull: WhenFull) async throws(AccessRefused)
    {
        guard whenFull == .wait else { throw .backlogFull }
        let task = WaitingTask(mode)
        let isCounted = await withTaskCancellationHandler {
            await withCheckedContinuation { join(task, $0) }
        } onCancel: {
            cancel(task)
        }
        if !isCounted {
            throw .cancelled
        }
    }

    private func join(_ task: WaitingTask, _ continuation: CheckedContinuation<Bool, Never>) {
        let line = line
        line.lock.lock()
        guard case .arriving = task.state else {
            line.lock.unlock()
            continuation.resume(returning: false)
            return
        }
        task.state = .waiting(continuation)
        line.tasks.append(task)
        word.bitwiseOr(Self.isWaitedFor, ordering: .relaxed)
        let counted = countFirst(of: line)
        line.lock.unlock()
        resume(counted)
    }

    private func cancel(_ task: WaitingTask) {
        let line = line
        line.lock.lock()
        let continuation = task.takeContinuation()
        var counted: [CheckedContinuation<Bool, Never>] = []
        if continuation != nil {
            line.tasks.remove(task)
            // It may have kept back the tasks after it.
            counted = countFirst(of: line)
        }
        line.lock.unlock()
        continuation?.resume(returning: false)
        resume(counted)
    }

    /// Gives free room to the first tasks of the line.
    @usableFromInline func advanceLine() {
        let line = line
        line.lock.lock()
        let counted = countFirst(of: line)
        line.lock.unlock()
        resume(counted)
    }

    /// Counts the tasks of the line for which there is room; the caller holds the lock, and resumes
    /// them after it has released it.
    private func countFirst(of line: WaitingLine) -> [CheckedContinuation<Bool, Never>] {
        var counted: [CheckedContinuation<Bool, Never>] = []
        while let task = line.tasks.first, tryEnter(task.mode, unless: 0) != .full {
            line.tasks.remove(task)
            if let continuation = task.takeContinuation() {
                counted.append(continuation)
            }
        }
        if line.tasks.first == nil {
            word.bitwiseAnd(~Self.isWaitedFor, ordering: .relaxed)
        }
        return counted
    }

    private func resume(_ counted: [CheckedContinuation<Bool, Never>]) {
        for continuation in counted {
            continuation.resume(returning: true)
        }
    }
}
