package import LatchkeyGuards
package import LatchkeyReplication
package import LatchkeyStore
package import LatchkeyStrategies

/// The store of a replica: changes go to the log, and reads to the executed state.
package struct ReplicatedStore: CommittingStore {
    private let base: PropertyStore
    private let replica: Replica
    private let isLost: @Sendable () -> Bool
    private let disks: ClusterDisks
    private let evictor: Evictor?

    /// - Parameters:
    ///   - base: The executed state.
    ///   - replica: Takes the changes.
    ///   - disks: Say whether a change is taken.
    ///   - evictor: Makes room where a change finds too little.
    ///   - isLost: Whether the data folder is gone, and with it what this replica would execute.
    package init(
        _ base: PropertyStore,
        _ replica: Replica,
        _ disks: ClusterDisks,
        _ evictor: Evictor?,
        isLost: @escaping @Sendable () -> Bool
    ) {
        (self.base, self.replica, self.disks) = (base, replica, disks)
        (self.evictor, self.isLost) = (evictor, isLost)
    }

    package func commit(
        _ change: Change,
        attempt: Int,
        _ ask: Ask,
        receiver: some DecisionReceiver
    ) throws(BacklogFull) {
        guard !isLost() else {
            receiver.receive(.failure(.unavailable(.gone)))
            return
        }
        guard !disks.refuses(change) else {
            receiver.receive(.failure(.unavailable(.full)))
            return
        }
        try replica.propose(
            change,
            author: receiver.author ?? [],
            identity: receiver.identity
        ) { [evictor] decision in
            if let evictor, case .failure(.full(let full)) = decision {
                evictor.commitAgain(change, full, attempt, ask, receiver)
            } else {
                receiver.receive(decision)
            }
        }
    }

    package func look(
        _ name: PropertyName,
        in scope: PropertyScope,
        _ ask: Ask,
        completion: @escaping @Sendable (Property?) -> Void
    ) throws(BacklogFull) {
        try base.look(name, in: scope, ask, completion: completion)
    }

    package func list(
        _ request: PageRequest,
        _ ask: Ask,
        completion: @escaping @Sendable (Page) -> Void
    ) {
        base.list(request, ask, completion: completion)
    }

    package func snapshot(_ ask: Ask, completion: @escaping @Sendable (StoreSnapshot) -> Void) {
        base.snapshot(ask, completion: completion)
    }
}
