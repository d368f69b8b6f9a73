/// A submitted body and its completion, from the submission until the completion has been called.
///
/// **Design.** A queue destroys a block before anybody else can enter. What a body, its completion
/// or its result holds may enter the value when it ends. So the block has only this object, and
/// whoever calls the completion takes all three out, outside of the section.
///
/// SAFETY: `@unchecked Sendable` because the queue uses it first, and after that the one that calls
/// the completion.
@usableFromInline final class SubmittedBody<Result>: @unchecked Sendable {
    @usableFromInline var body: (@Sendable () -> Result)?
    @usableFromInline var completion: (@Sendable (Result) -> Void)?
    @usableFromInline var result: Result?

    @inlinable init(
        _ body: @escaping @Sendable () -> Result,
        _ completion: @escaping @Sendable (Result) -> Void
    ) {
        self.body = body
        self.completion = completion
    }

    /// Runs the body, inside.
    ///
    /// Never inlined: what the call has of the body ends with it.
    @inlinable @inline(never) func run() {
        result = body?()
    }

    /// Calls the completion, outside, and lets go of everything.
    @inlinable func complete() {
        let (body, completion, result) = (body.take(), completion.take(), result.take())
        withExtendedLifetime(body) {
            if let completion, let result {
                completion(result)
            }
        }
    }
}
