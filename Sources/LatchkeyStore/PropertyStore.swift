public import LatchkeySync

/// A store of properties as its users see it: one way to look and one way to change.
///
/// Every operation takes a completion, because some strategies apply it later: it is called exactly
/// once, outside the guarded section. A store whose strategy blocks, and which no hook holds back,
/// calls it before the operation returns; any other may call it on another thread.
@usableFromInline
package protocol CommittingStore: Sendable {
    /// Finds a property in a scope.
    ///
    /// The name's bytes stay in place until the completion has been called.
    ///
    /// - Throws: ``BacklogFull`` if as many reads wait as the strategy accepts. Nothing was
    ///   submitted then.
    func look(
        _ name: PropertyName,
        in scope: PropertyScope,
        observer: some EntryObserver,
        completion: @escaping @Sendable (Property?) -> Void
    ) throws(BacklogFull)

    /// Decides a change and makes it, or refuses it.
    ///
    /// The change's bytes stay in place until the receiver has the decision.
    ///
    /// - Throws: ``BacklogFull`` if as many changes wait as the strategy accepts. Nothing was
    ///   submitted then.
    func commit(
        _ change: Change,
        observer: some EntryObserver,
        receiver: some DecisionReceiver
    ) throws(BacklogFull)

    /// Lists properties in the order of their names, as of one revision.
    func list(
        _ request: PageRequest,
        observer: some EntryObserver,
        completion: @escaping @Sendable (Page) -> Void
    )

    /// Takes all properties as of one revision.
    func snapshot(completion: @escaping @Sendable (StoreSnapshot) -> Void)
}

/// Which properties a look finds.
@usableFromInline
package enum PropertyScope: Sendable {
    /// Those that are served. To find one is a use of it.
    case live
    /// Also those whose time is over: until a commit removes them, they are stored.
    ///
    /// That is no use of a property.
    case stored
}

extension CommittingStore {
    /// Finds a property that is served.
    @inlinable
    @inline(__always)
    package func look(
        _ name: PropertyName,
        observer: some EntryObserver = NoObserver(),
        completion: @escaping @Sendable (Property?) -> Void
    ) throws(BacklogFull) {
        try look(name, in: .live, observer: observer, completion: completion)
    }

    /// Decides a change and calls `completion` with the decision.
    @inlinable
    @inline(__always)
    package func commit(
        _ change: Change,
        observer: some EntryObserver = NoObserver(),
        completion: @escaping @Sendable (Decision) -> Void
    ) throws(BacklogFull) {
        try commit(change, observer: observer, receiver: DecisionClosure(completion))
    }
}

/// The properties, guarded by a strategy.
///
/// **Design.** Names are spread over tables by their hash; each table is a value of its own under
/// the strategy, so an operation on one property meets only the operations on the same stripe.
/// Check and change are one step inside the guarded section. A change of several properties holds
/// the stripes of all of them, a listing holds all stripes.
///
/// Nothing changes state but a commit. ``HookedStore`` passes each one to a hook.
@usableFromInline
package final class PropertyStore<ChosenStrategy: Strategy>: CommittingStore {
    @usableFromInline let stripes: Striped<PropertyTable, ChosenStrategy>
    @usableFromInline let context: CommitContext

    /// Makes an empty store, with a strategy of its own for each stripe.
    ///
    /// `revision` is the one before the first commit.
    package convenience init(
        limits: StoreLimits,
        stripeCount: Int,
        strategy: () -> ChosenStrategy,
        clock: StoreClock = .system,
        after revision: Revision = 0
    ) {
        self.init(
            limits: limits,
            stripeCount: stripeCount,
            strategy: strategy,
            clock: clock,
            after: revision,
            hook: nil
        )
    }

    /// Makes the store behind a ``HookedStore``, which alone uses it, or that of a test.
    init(
        limits: StoreLimits,
        stripeCount: Int,
        strategy: () -> ChosenStrategy,
        clock: StoreClock,
        after revision: Revision,
        hook: CommitHook?,
        betweenSteps: (@Sendable () -> Void)? = nil
    ) {
        let context = CommitContext(
            limits: limits,
            clock: clock,
            after: revision,
            ordersPublication: ChosenStrategy.traits.readsDuringWrites,
            hook: hook,
            betweenSteps: betweenSteps
        )
        self.context = context
        stripes = Striped(count: stripeCount, strategy: strategy) { _ in
            PropertyTable(context: context)
        }
    }

    /// The rules that changes are decided by.
    ///
    /// They are set by who executes changes one after the other, between two of them.
    package var rules: RuleLevel {
        get { context.rules }
        set { context.rules = newValue }
    }

    package var usage: StoreUsage { context.usage }

    /// How full the quotas are, in the order of their prefixes.
    package var quotaUsage: [QuotaUsage] { context.quotas.usage }

    /// Changes that were accepted and are not yet applied.
    package var backlogCount: Int { stripes.backlogCount }

    /// Those of the stripe that has the most: each stripe has the bound.
    package var fullestBacklogCount: Int {
        (0..<stripes.count).reduce(0) { max($0, stripes[$1].backlogCount) }
    }

    @inlinable
    func index(_ name: PropertyName) -> Int {
        name.stripe(of: stripes.count)
    }

    @inlinable
    @inline(__always)
    package func look(
        _ name: PropertyName,
        in scope: PropertyScope,
        observer: some EntryObserver,
        completion: @escaping @Sendable (Property?) -> Void
    ) throws(BacklogFull) {
        try stripes.submitRead(
            index(name),
            observer: observer,
            {
                ChosenStrategy.traits.readsDuringWrites
                    ? $0.findPublished(name, in: scope) : $0.find(name, in: scope)
            },
            completion: completion
        )
    }

    @inlinable
    package func commit(
        _ change: Change,
        observer: some EntryObserver,
        receiver: some DecisionReceiver
    ) throws(BacklogFull) {
        try execute(change, at: nil, observer: observer, receiver: receiver)
    }

    /// Decides a change as if it were this time, and makes it or refuses it.
    ///
    /// Without a time, the store's clock is read inside the guarded section.
    ///
    /// Deterministic: the same changes at the same times in the same order make the same store,
    /// revisions and answers included, under every strategy, with any number of stripes, and in
    /// every process.
    @inlinable
    package func execute(
        _ change: Change,
        at time: Timestamp?,
        observer: some EntryObserver,
        receiver: some DecisionReceiver
    ) throws(BacklogFull) {
        switch change {
        case .step(let step):
            let property = step.prepare()
            try submitWrite(
                index(step.name),
                observer: observer,
                { $0.execute(step, property, at: time) },
                completion: { receiver.receive($0) }
            )
        case .transaction(let transaction):
            let prepared = prepare(transaction, at: time)
            guard prepared.claimPairCount > 0 else {
                return try submit(prepared, observer, receiver)
            }
            try submitPassing(
                prepared,
                observer: observer,
                { $0.executeIfKnown(prepared) },
                completion: { receiver.receive($0) }
            )
        }
    }

    @inlinable
    func submit(
        _ prepared: PreparedTransaction,
        _ observer: some EntryObserver,
        _ receiver: some DecisionReceiver
    ) throws(BacklogFull) {
        try submitWrite(
            prepared.tables,
            observer: observer,
            { $0.execute(prepared) },
            completion: { receiver.receive($0) }
        )
    }

    /// Makes the change of a commit that was decided elsewhere, without deciding again.
    ///
    /// Commits are applied in the order of their revisions, one after the other, while nothing else
    /// changes the store.
    @inlinable
    package func apply(
        _ commit: Commit,
        observer: some EntryObserver = NoObserver(),
        completion: @escaping @Sendable () -> Void
    ) throws(BacklogFull) {
        let tables = TableSelection(commit.names.map { index($0) })
        try submitWrite(
            tables,
            observer: observer,
            { $0.apply(commit, tables.positions) },
            completion: completion
        )
    }

    /// Submits a write to a stripe.
    ///
    /// Where readers do not wait for writers, the context is told when they see what it wrote.
    @inlinable
    @inline(__always)
    func submitWrite<Result: Sendable>(
        _ stripe: Int,
        observer: some EntryObserver,
        _ body: @escaping @Sendable (inout PropertyTable) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        guard ChosenStrategy.traits.readsDuringWrites else {
            return try stripes.submitWrite(
                stripe,
                observer: observer,
                body,
                completion: completion
            )
        }
        try stripes.submitWrite(
            stripe,
            observer: PublicationObserver(observer, context),
            body,
            completion: completion
        )
    }

    /// Submits a write to several stripes, which it takes in ascending order.
    @inlinable
    @inline(__always)
    func submitWrite<Result: Sendable>(
        _ tables: TableSelection,
        observer: some EntryObserver,
        _ body: @escaping @Sendable (inout [PropertyTable]) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        guard ChosenStrategy.traits.readsDuringWrites else {
            return try stripes.submitWrite(
                several: tables.stripes,
                observer: observer,
                body,
                completion: completion
            )
        }
        try stripes.submitWrite(
            several: tables.stripes,
            observer: PublicationObserver(observer, context),
            body,
            completion: completion
        )
    }

    @inlinable
    func prepare(_ transaction: Transaction, at time: Timestamp?) -> PreparedTransaction {
        PreparedTransaction(transaction, at: time, stripeCount: stripes.count) { index($0) }
    }

    @inlinable
    package func list(
        _ request: PageRequest,
        observer: some EntryObserver = NoObserver(),
        completion: @escaping @Sendable (Page) -> Void
    ) {
        // All stripes are held only for the snapshot, and the page is made behind that.
        stripes.submitReadAll(
            observer: observer,
            { [context] in StoreSnapshot(tables: $0, context: context) },
            completion: { completion(Page(request, $0)) }
        )
    }

    /// Takes all properties as of one revision.
    ///
    /// All stripes are held only while references are copied, whatever their size.
    @inlinable
    package func snapshot(completion: @escaping @Sendable (StoreSnapshot) -> Void) {
        stripes.submitReadAll(
            { [context] in StoreSnapshot(tables: $0, context: context) },
            completion: completion
        )
    }

    /// A hash of the whole store, which is the same in every process: of the names and values, and
    /// of all revisions.
    @inlinable
    package func digest(
        completion: @escaping @Sendable (UInt64) -> Void
    ) {
        stripes.submitReadAll(
            { [context] in context.digest(of: $0) },
            completion: completion
        )
    }
}
