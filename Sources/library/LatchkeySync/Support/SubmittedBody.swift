/// A submitted body and its completion, from the submission until the completion has been called.
///
/// **Design.** A queue destroys a block before anybody else can enter. What a body, its completion,
/// its result or an observer holds may enter the value when it ends. So the block has only this
/// object, and whoever calls the completion takes all four out, outside of the section.
///
/// SAFETY: `@unchecked Sendable` because the queue uses it first, and after that the one that calls
/// the completion.
@usableFromInline final class SubmittedBody<Observing, Result>: @unchecked Sendable {
    /// What tells the observers.
    @usableFromInline var observing: Observing?
    @usableFromInline var body: (@Sendable () -> Result)?
    @usableFromInline var completion: (@Sendable (Result) -> Void)?
    @usableFromInline var result: Result?

    @inlinable init(
        _ observing: Observing,
        _ body: @escaping @Sendable () -> Result,
        _ completion: @escaping @Sendable (Result) -> Void
    ) {
        self.observing = observing
        self.body = body
        self.completion = completion
    }

    /// Runs the body, inside; `access` tells the observers.
    ///
    /// Never inlined: what the call has of the body and the observers ends with it.
    @inlinable @inline(never) func run(_ access: (Observing, () -> Void) -> Void) {
        if let observing {
            access(observing) { result = body?() }
        }
    }

    /// Calls the completion, outside, and lets go of everything.
    @inlinable func complete() {
        let (body, completion, result) = (body.take(), completion.take(), result.take())
        withExtendedLifetime((body, observing.take())) {
            if let completion, let result {
                completion(result)
            }
        }
    }
}
