package import LatchkeyFrame

/// What a replica knows of the state that it has in common with others.
///
/// **Design.** Of a class, since each read asks for it: what can be any value is copied by way of
/// its type.
package protocol SharedState: AnyObject, Sendable {
    /// Why no client may be shown the state; nil if clients may.
    var readRefusal: RequestFailure? { get }
    /// Whether the replica cannot go on: it never has a newer state.
    var hasEnded: Bool { get }

    /// Calls back when the state has all that was acknowledged anywhere before the call; with false
    /// if that cannot be known in time.
    func whenLevel(_ answer: @escaping @Sendable (Bool) -> Void)
}
