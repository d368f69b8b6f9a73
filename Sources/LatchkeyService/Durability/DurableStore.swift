internal import LatchkeyStore
internal import LatchkeyStrategies

/// The store of a service that keeps its data, whatever its strategy.
///
/// **Design.** The routes are compiled for it once, and not for each strategy: else the program
/// would double. What is compiled for each strategy is its ``HookedStore``. A change or a read pays
/// one call through a table for that.
struct DurableStore: BoxedStore {
    let box: ErasedStore
    /// Refuses changes before they are decided, while none can be written.
    let acceptsWrites: @Sendable () -> Bool
    /// Whether the data folder is gone, so that none will be.
    let isLost: @Sendable () -> Bool

    func commit(
        _ change: Change,
        observer: some EntryObserver,
        receiver: some DecisionReceiver
    ) throws(BacklogFull) {
        guard acceptsWrites() else {
            receiver.receive(.failure(.withdrawn(isLost() ? .gone : .unavailable)))
            return
        }
        try box.execute(change, nil, erased(observer), AnyReceiver(base: receiver))
    }
}

/// A store whose reads go to one that is reached through a table.
protocol BoxedStore: CommittingStore {
    var box: ErasedStore { get }
}

extension BoxedStore {
    func look(
        _ name: PropertyName,
        in scope: PropertyScope,
        observer: some EntryObserver,
        completion: @escaping @Sendable (Property?) -> Void
    ) throws(BacklogFull) {
        try box.look(name, scope, erased(observer), completion)
    }

    func list(
        _ request: PageRequest,
        observer: some EntryObserver,
        completion: @escaping @Sendable (Page) -> Void
    ) {
        box.list(request, erased(observer), completion)
    }

    func snapshot(completion: @escaping @Sendable (StoreSnapshot) -> Void) {
        box.snapshot(completion)
    }

    /// Folds away: the service observes with this type only.
    func erased<Observer: EntryObserver>(_ observer: Observer) -> TimingObserver {
        (observer as? TimingObserver) ?? TimingObserver(timing: nil, site: observer.site)
    }
}

/// A ``HookedStore`` without its strategy.
///
/// **Design.** Closures, and not a protocol: the functions that a generic type has for a protocol
/// are compiled once, for all strategies, and look up all types as they run.
struct ErasedStore: Sendable {
    let look:
        @Sendable (
            PropertyName, PropertyScope, TimingObserver, @escaping @Sendable (Property?) -> Void
        ) throws(BacklogFull) -> Void
    let execute:
        @Sendable (Change, Timestamp?, TimingObserver, AnyReceiver) throws(BacklogFull) -> Void
    let list: @Sendable (PageRequest, TimingObserver, @escaping @Sendable (Page) -> Void) -> Void
    let snapshot: @Sendable (@escaping @Sendable (StoreSnapshot) -> Void) -> Void
    let usage: @Sendable () -> StoreUsage
    let quotaUsage: @Sendable () -> [QuotaUsage]
    let load: @Sendable ([Property], @escaping @Sendable () -> Void) -> Void
    let replay: @Sendable ([StoredCommit], @escaping @Sendable ([Commit]) -> Void) -> Void
    let withdraw: @Sendable (Revision, Withdrawal, @escaping @Sendable () -> Void) -> Void
    let jump: @Sendable (Revision, @escaping @Sendable () -> Void) -> Void
    /// Sets the rules that changes are decided by.
    let decide: @Sendable (_ rules: RuleLevel) -> Void

    /// Inlined where the strategy is known.
    @inline(__always)
    init(_ store: HookedStore<some Strategy>) {
        look = { (name, scope, observer, completion) throws(BacklogFull) in
            try store.look(name, in: scope, observer: observer, completion: completion)
        }
        execute = { (change, time, observer, receiver) throws(BacklogFull) in
            try store.execute(change, at: time, observer: observer, receiver: receiver)
        }
        list = { store.list($0, observer: $1, completion: $2) }
        snapshot = { store.snapshot(completion: $0) }
        usage = { store.usage }
        quotaUsage = { store.quotaUsage }
        load = { store.load($0, completion: $1) }
        replay = { store.replay($0, completion: $1) }
        withdraw = { store.withdraw(after: $0, $1, completion: $2) }
        jump = { store.jump(to: $0, completion: $1) }
        decide = { store.rules = $0 }
    }
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
