internal import Synchronization

/// The body of a task's access to a queue, which the queue runs or the task takes back.
///
/// **Design.** The queue keeps a block until it is reached, and cannot give it back. So the block
/// has only this object. `state` says who may have the body: the queue, when it reaches the block,
/// or the cancellation of the task, whichever is first. That one resumes the task, once.
///
/// The body is borrowed from the task, which must not go on while anybody has it: it is let go of
/// before the task is resumed.
///
/// SAFETY: `@unchecked Sendable` because `body` and `continuation` are set before the state becomes
/// `waiting`, and used after it by the one that changes it.
@usableFromInline final class QueuedBody<Result: Sendable>: @unchecked Sendable {
    private static var arriving: UInt8 { 0 }
    private static var waiting: UInt8 { 1 }
    private static var gone: UInt8 { 2 }

    private let state = Atomic<UInt8>(QueuedBody.arriving)
    private var body: (() -> Result)?
    private var continuation: CheckedContinuation<Result?, Never>?

    @usableFromInline init(_ body: @escaping () -> Result) {
        self.body = body
    }

    /// Keeps the suspended task, unless it was cancelled before: then it goes on.
    ///
    /// Releasing: pairs with the acquiring exchanges of the other two.
    @usableFromInline func wait(_ continuation: CheckedContinuation<Result?, Never>) {
        self.continuation = continuation
        if !advance(from: Self.arriving, to: Self.waiting) {
            resume(nil)
        }
    }

    /// Lets the task go on without a result, unless the queue has begun.
    @usableFromInline func cancel() {
        if state.exchange(Self.gone, ordering: .acquiringAndReleasing) == Self.waiting {
            resume(nil)
        }
    }

    /// Runs the body if the task still waits for it.
    ///
    /// Never inlined: what the call has of the body must end with it.
    @inline(never) @usableFromInline func run() -> Result? {
        guard advance(from: Self.waiting, to: Self.gone), let body else { return nil }
        self.body = nil
        return body()
    }

    /// Lets the task go on.
    @usableFromInline func resume(_ result: Result?) {
        body = nil
        continuation?.resume(returning: result)
    }

    private func advance(from old: UInt8, to new: UInt8) -> Bool {
        state.compareExchange(
            expected: old,
            desired: new,
            ordering: .acquiringAndReleasing
        ).exchanged
    }
}
