internal import LatchkeyStore
internal import LatchkeyStrategies

/// The store of a service that keeps its data, whatever its strategy.
///
/// **Design.** The routes are compiled for it once, and not for each strategy: else the program
/// would double. What is compiled for each strategy is its ``HookedStore``. A change or a read pays
/// one call through a table for that.
struct DurableStore: BoxedStore {
    let box: any ErasedStore
    /// Refuses changes before they are decided, while none can be written.
    let acceptsWrites: @Sendable () -> Bool

    func commit(
        _ change: Change,
        observer: some EntryObserver,
        receiver: some DecisionReceiver
    ) throws(BacklogFull) {
        guard acceptsWrites() else {
            receiver.receive(.failure(.withdrawn(.unavailable)))
            return
        }
        try box.commit(change, observer: erased(observer), receiver: AnyReceiver(base: receiver))
    }
}

/// A store whose reads go to one that is reached through a table.
protocol BoxedStore: CommittingStore {
    var box: any ErasedStore { get }
}

extension BoxedStore {
    func look(
        _ name: PropertyName,
        in scope: PropertyScope,
        observer: some EntryObserver,
        completion: @escaping @Sendable (Property?) -> Void
    ) throws(BacklogFull) {
        try box.look(name, in: scope, observer: erased(observer), completion: completion)
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

    /// Folds away: the service observes with this type only.
    func erased<Observer: EntryObserver>(_ observer: Observer) -> TimingObserver {
        (observer as? TimingObserver) ?? TimingObserver(timing: nil, site: observer.site)
    }
}

/// A ``HookedStore`` without its strategy.
protocol ErasedStore: Sendable {
    func look(
        _ name: PropertyName,
        in scope: PropertyScope,
        observer: TimingObserver,
        completion: @escaping @Sendable (Property?) -> Void
    ) throws(BacklogFull)

    func commit(
        _ change: Change,
        observer: TimingObserver,
        receiver: AnyReceiver
    ) throws(BacklogFull)

    func execute(
        _ change: Change,
        at time: Timestamp?,
        observer: TimingObserver,
        receiver: AnyReceiver
    ) throws(BacklogFull)

    func list(
        _ request: PageRequest,
        observer: TimingObserver,
        completion: @escaping @Sendable (Page) -> Void
    )

    func snapshot(completion: @escaping @Sendable (StoreSnapshot) -> Void)

    var usage: StoreUsage { get }

    var quotaUsage: [QuotaUsage] { get }

    func load(_ properties: [Property], completion: @escaping @Sendable () -> Void)

    func replay(
        _ commits: [StoredCommit],
        completion: @escaping @Sendable ([Commit]) -> Void
    )

    func withdraw(
        after revision: Revision,
        _ reason: Withdrawal,
        completion: @escaping @Sendable () -> Void
    )
}

/// A receiver without its type.
struct AnyReceiver: DecisionReceiver {
    let base: any DecisionReceiver

    func receive(_ decision: Decision) {
        base.receive(decision)
    }

    var author: [UInt8]? { base.author }

    var identity: RequestIdentity? { base.identity }

    func note(for commit: Commit) -> CommitNote? {
        base.note(for: commit)
    }
}

extension HookedStore: ErasedStore {}
