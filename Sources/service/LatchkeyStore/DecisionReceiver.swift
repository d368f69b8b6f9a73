/// Takes the decision about a change.
///
/// A value instead of a closure: it is allocated only where it has to be kept, such as in a store
/// that makes room first, and not for each change.
package protocol DecisionReceiver: Sendable {
    /// Called exactly once, outside the guarded section.
    func receive(_ decision: Decision)

    /// The name of who makes the change, if that is known.
    var author: [UInt8]? { get }

    /// What the request is known by that makes the change, if it may be repeated.
    var identity: RequestIdentity? { get }

    /// What is kept with a commit by the user of a ``CommitHook``.
    ///
    /// Asked once for each commit with an effect, outside the guarded section, before the hook gets
    /// the commit. That it is asked does not say that the commit stays.
    func note(for commit: Commit) -> CommitNote?
}

extension DecisionReceiver {
    /// No receiver.
    package var author: [UInt8]? { nil }

    /// None.
    package var identity: RequestIdentity? { nil }

    /// Who makes the change.
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
