package import LatchkeyStore

/// The state that a replica executes changes on.
///
/// One thread calls ``decide(by:)``, ``execute(_:at:)`` and ``reaches(_:)``, and nothing else
/// changes the state.
package protocol ReplicatedState: Sendable {
    /// Decides the following changes by these rules.
    func decide(by rules: RuleLevel)

    /// Decides a change as of a time and makes it, or refuses it. Blocks until readers see it.
    ///
    /// Deterministic: it follows from the state, the rules, the change and the time.
    func execute(_ proposal: LogEntry.Proposal, at time: Timestamp) -> Decision

    /// The revisions go on after this one, if it is above the latest one.
    func jump(to revision: Revision)

    /// All changes up to a position are made.
    func reaches(_ position: LogPosition)

    /// The latest revision.
    var revision: Revision { get }

    /// Computes a hash of the state as it is at the call, on another thread.
    func hash(completion: @escaping @Sendable (UInt64) -> Void)
}
