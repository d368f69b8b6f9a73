internal import LatchkeyReplication
internal import LatchkeyStore
internal import LatchkeyStrategies

/// The store of a replica: changes go to the log, and reads to what was executed of it.
struct ClusteredStore: CommittingStore {
    let box: any ErasedStore
    let replica: Replica

    func look(
        _ name: PropertyName,
        in scope: PropertyScope,
        observer: some EntryObserver,
        completion: @escaping @Sendable (Property?) -> Void
    ) throws(BacklogFull) {
        try box.look(name, in: scope, observer: erased(observer), completion: completion)
    }

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

    func list(
        _ request: PageRequest,
        observer: some EntryObserver,
        completion: @escaping @Sendable (Page) -> Void
    ) {
        box.list(request, observer: erased(observer), completion: completion)
    }

    func snapshot(completion: @escaping @Sendable (StoreSnapshot) -> Void) {
        box.snapshot(completion: completion)
    }

    private func erased<Observer: EntryObserver>(_ observer: Observer) -> TimingObserver {
        (observer as? TimingObserver) ?? TimingObserver(timing: nil, site: observer.site)
    }
}
