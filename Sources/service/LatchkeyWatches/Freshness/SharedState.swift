package import LatchkeyFrame

/// A replica's knowledge of the state that it shares with others.
///
/// **Design.** Limited to classes, since each read uses it: an existential of any value is copied
/// by way of its type.
package protocol SharedState: AnyObject, Sendable {
    /// The reason why no client may read the state; nil if clients may.
    var readRefusal: RequestFailure? { get }
    /// Whether the replica cannot go on: it never has a newer state.
    var hasEnded: Bool { get }

    /// Calls back when the state has everything that was acknowledged anywhere before the call;
    /// with false if that cannot be known in time.
    func whenLevel(_ answer: @escaping @Sendable (Bool) -> Void)
}
