internal import LatchkeyGuards
internal import LatchkeyReplication
internal import LatchkeyStore
internal import LatchkeyStrategies

/// The store of a replica: changes go to the log, and reads to what was executed of it.
struct ClusteredStore: CommittingStore {
    let base: PropertyStore
    let replica: Replica
    /// Whether the data folder is gone, and with it what this replica would execute.
    let isLost: @Sendable () -> Bool
    let disks: ClusterDisks
    /// Makes room where a change finds too little.
    let evictor: Evictor?

    func commit(
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

    func look(
        _ name: PropertyName,
        in scope: PropertyScope,
        _ ask: Ask,
        completion: @escaping @Sendable (Property?) -> Void
    ) throws(BacklogFull) {
        try base.look(name, in: scope, ask, completion: completion)
    }

    func list(_ request: PageRequest, _ ask: Ask, completion: @escaping @Sendable (Page) -> Void) {
        base.list(request, ask, completion: completion)
    }

    func snapshot(_ ask: Ask, completion: @escaping @Sendable (StoreSnapshot) -> Void) {
        base.snapshot(ask, completion: completion)
    }
}
