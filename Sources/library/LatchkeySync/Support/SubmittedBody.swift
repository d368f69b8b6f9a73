/// A submitted body and its completion, from the submission until the completion has been called.
///
/// **Design.** A queue destroys a block before another access can enter. An object that a body, its
/// completion, its result or an observer holds may enter the value when it is destroyed. So the
/// block has only this object, and the caller of the completion takes all four out, outside of the
/// section.
///
/// SAFETY: `@unchecked Sendable` because the queue uses it first, and after that the one that calls
/// the completion.
@usableFromInline final class SubmittedBody<Observing, Result>: @unchecked Sendable {
    /// Tells the observers.
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
    /// Never inlined: the references of the call to the body and the observers end with it.
    @inlinable @inline(never) func run(_ access: (Observing, () -> Void) -> Void) {
        if let observing {
            access(observing) { result = body?() }
        }
    }

    /// Calls the completion, outside, and releases everything.
    @inlinable func complete() {
        let (body, completion, result) = (body.take(), completion.take(), result.take())
        withExtendedLifetime((body, observing.take())) {
            if let completion, let result {
                completion(result)
            }
        }
    }
}
