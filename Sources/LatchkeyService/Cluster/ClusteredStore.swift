internal import LatchkeyReplication
internal import LatchkeyStore
internal import LatchkeyStrategies

/// The store of a replica: changes go to the log, and reads to what was executed of it.
struct ClusteredStore: BoxedStore {
    let box: ErasedStore
    let replica: Replica

    func commit(
        _ change: Change,
        observer: some EntryObserver,
        receiver: some DecisionReceiver
    ) throws(BacklogFull) {
        try replica.propose(
            change,
            author: receiver.author ?? [],
            identity: receiver.identity
        ) { receiver.receive($0) }
    }
}
