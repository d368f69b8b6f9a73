/// Takes the decision about a change.
///
/// A value instead of a closure: it is allocated only where it has to be kept, such as in a store
/// that makes room first, and not for each change.
package protocol DecisionReceiver: Sendable {
    /// Called exactly once, outside the guarded section.
    func receive(_ decision: Decision)

    /// The name of the change's author, if it is known.
    var author: [UInt8]? { get }

    /// The identity of the request that makes the change, if it may be repeated.
    var identity: RequestIdentity? { get }

    /// The note that the user of a ``CommitHook`` keeps with a commit.
    ///
    /// Asked once for each commit with an effect, outside the guarded section, before the hook gets
    /// the commit. A call does not mean that the commit stays.
    func note(for commit: Commit) -> CommitNote?
}

extension DecisionReceiver {
    /// No author.
    package var author: [UInt8]? { nil }

    /// No identity.
    package var identity: RequestIdentity? { nil }

    /// A note of the author only.
    package func note(for commit: Commit) -> CommitNote? {
        CommitNote(author: author, bytes: nil)
    }
}

/// A closure that takes the decision.
package struct DecisionClosure: DecisionReceiver {
    let closure: @Sendable (Decision) -> Void

    package init(_ closure: @escaping @Sendable (Decision) -> Void) {
        self.closure = closure
    }

    package func receive(_ decision: Decision) {
        closure(decision)
    }
}
