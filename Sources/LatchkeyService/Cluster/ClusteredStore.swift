internal import LatchkeyReplication
internal import LatchkeyStore
internal import LatchkeyStrategies

/// The store of a replica: changes go to the log, and reads to what was executed of it.
struct ClusteredStore: BoxedStore {
    let box: ErasedStore
    let replica: Replica
    /// Whether the data folder is gone, and with it what this replica would execute.
    let isLost: @Sendable () -> Bool

    func commit(
        _ change: Change,
        observer: some EntryObserver,
        receiver: some DecisionReceiver
    ) throws(BacklogFull) {
        guard !isLost() else {
            receiver.receive(.failure(.withdrawn(.gone)))
            return
        }
        try replica.propose(
            change,
            author: receiver.author ?? [],
            identity: receiver.identity
        ) { receiver.receive($0) }
    }
}
