internal import Synchronization

/// The state of a ``QueuedBody`` when the queue reached it.
@usableFromInline enum QueuedTurn: UInt8 {
    /// It ran.
    case ran = 2
    /// Its task was cancelled before, and has given its room in the backlog back.
    case gaveRoomBack
    /// Its task was cancelled before, and its room is still taken.
    case keepsRoom
}

/// The body of a task's access to a queue, which the queue runs or the task takes back.
///
/// **Design.** The queue keeps a block until it is reached, and cannot give it back. So the block
/// has only this object. `state` says which side may use the body: the queue, when it reaches the
/// block, or the cancellation of the task, whichever is first. That side resumes the task, once.
///
/// The body is borrowed from the task, which must not go on while it is in use: it is released
/// before the task is resumed. The result stays here until the task takes it, so that it is not
/// destroyed on the queue. Nor is the observer: the task has it, too, and if the task has gone on
/// already, it is destroyed where completions run.
///
/// SAFETY: `@unchecked Sendable` because `observer` is used by the queue, and after it where
/// completions run; `body` and `continuation` are set before the state becomes `waiting`, and used
/// after it by the one that changes it; `result` is used by the queue before it resumes the task,
/// and by the task after that.
@usableFromInline
final class QueuedBody<Observer: EntryObserver, Result: Sendable>:
    @unchecked Sendable
{
    private static var arriving: UInt8 { 0 }
    private static var waiting: UInt8 { 1 }

    /// One of these two, or the raw value of a ``QueuedTurn``.
    private let state = Atomic<UInt8>(QueuedBody.arriving)
    private var observer: Observer?
    private var body: (() -> Result)?
    private var result: Result?
    private var continuation: CheckedContinuation<Void, Never>?

    @usableFromInline init(_ observer: Observer, _ body: @escaping () -> Result) {
        self.observer = observer
        self.body = body
    }

    /// Keeps the suspended task, unless it was cancelled before: then it goes on.
    ///
    /// Releasing: pairs with the acquiring exchanges of the other two.
    @usableFromInline func wait(_ continuation: CheckedContinuation<Void, Never>) {
        self.continuation = continuation
        if advance(from: Self.arriving, to: Self.waiting) != Self.arriving {
            resume()
        }
    }

    /// Lets the task go on without a result, unless the queue has begun; false if it has.
    ///
    /// The queue then finds `turn`; `before` is called before the task goes on.
    @usableFromInline func cancel(as turn: QueuedTurn, before: () -> Void) -> Bool {
        var old = advance(from: Self.arriving, to: turn.rawValue)
        if old == Self.waiting {
            old = advance(from: Self.waiting, to: turn.rawValue)
        }
        guard old <= Self.waiting else { return false }
        before()
        if old == Self.waiting {
            resume()
        }
        return true
    }

    /// Runs the body if the task still waits for it; `access` tells the observer.
    ///
    /// Never inlined: the references of the call to the body and the observer must end with it.
    @inline(never) @usableFromInline func run(
        _ access: (Observer, () -> Void) -> Void
    ) -> QueuedTurn {
        var turn = QueuedTurn.keepsRoom
        if let observer {
            access(observer) { turn = runIfAwaited() }
        }
        if turn == .ran {
            observer = nil
        }
        return turn
    }

    private func runIfAwaited() -> QueuedTurn {
        let old = advance(from: Self.waiting, to: QueuedTurn.ran.rawValue)
        guard old == Self.waiting, let body else {
            return QueuedTurn(rawValue: old) ?? .keepsRoom
        }
        self.body = nil
        result = body()
        return .ran
    }

    /// Releases the observer of a body that did not run.
    @usableFromInline func letGo() { observer = nil }

    /// Lets the task go on.
    @usableFromInline func resume() {
        body = nil
        continuation?.resume()
    }

    /// The result of the body; nil if it did not run.
    @usableFromInline func takeResult() -> Result? { result.take() }

    /// Changes the state if it is `old`; returns what it was.
    private func advance(from old: UInt8, to new: UInt8) -> UInt8 {
        state.compareExchange(
            expected: old,
            desired: new,
            ordering: .acquiringAndReleasing
        ).original
    }
}
