package import LatchkeyGuards
package import LatchkeySync

/// A store of properties as its users see it: one way to look and one way to change.
///
/// Every operation takes a completion, because some strategies apply it later: it is called exactly
/// once, outside the guarded section. A store whose strategy blocks, and which no hook holds back,
/// calls it before the operation returns; any other may call it on another thread.
package protocol CommittingStore: Sendable {
    /// Finds a property in a scope.
    ///
    /// The name's bytes stay in place until the completion has been called.
    ///
    /// - Throws: ``BacklogFull`` if the strategy's backlog of reads is full. Nothing was submitted
    ///   then.
    func look(
        _ name: PropertyName,
        in scope: PropertyScope,
        _ ask: Ask,
        completion: @escaping @Sendable (Property?) -> Void
    ) throws(BacklogFull)

    /// Decides a change and makes it, or refuses it.
    ///
    /// The change's bytes stay in place until the receiver has the decision.
    ///
    /// - Parameters:
    ///   - change: The change.
    ///   - attempt: How often room was made for it.
    ///   - ask: The call site of the access.
    ///   - receiver: Takes the decision.
    /// - Throws: ``BacklogFull`` if the strategy's backlog of changes is full. Nothing was
    ///   submitted then.
    func commit(
        _ change: Change,
        attempt: Int,
        _ ask: Ask,
        receiver: some DecisionReceiver
    ) throws(BacklogFull)

    /// Lists properties in the order of their names, as of one revision.
    func list(
        _ request: PageRequest,
        _ ask: Ask,
        completion: @escaping @Sendable (Page) -> Void
    )

    /// Takes all properties as of one revision.
    func snapshot(_ ask: Ask, completion: @escaping @Sendable (StoreSnapshot) -> Void)
}

extension CommittingStore {
    /// Decides a change and makes it, or refuses it.
    package func commit(
        _ change: Change,
        _ ask: Ask,
        receiver: some DecisionReceiver
    ) throws(BacklogFull) {
        try commit(change, attempt: 0, ask, receiver: receiver)
    }

    /// Decides a change and calls `completion` with the decision.
    package func commit(
        _ change: Change,
        _ ask: Ask,
        completion: @escaping @Sendable (Decision) -> Void
    ) throws(BacklogFull) {
        try commit(change, attempt: 0, ask, receiver: DecisionClosure(completion))
    }
}
