package import LatchkeyGuards
internal import LatchkeyStrategies
package import LatchkeySync

/// The properties, guarded by a strategy that is chosen by name, and can be switched.
///
/// **Design.** Names are spread over tables by their hash; each table is a value of its own with a
/// guard, so an operation on one property meets only the operations on the same stripe. Check and
/// change are one step inside the guarded section. A change of several properties holds the stripes
/// of all of them. A listing and a count enter one stripe after the other, and hold all only where
/// commits come in between.
///
/// Nothing changes state but a commit. Where there is a hook, it gets each one, and no client sees
/// a commit before the hook releases it. Then the journal gets it. An answer does not wait for the
/// journal: code that needs the journal up to a shown revision calls ``Journal/whenReached(_:_:)``.
///
/// **Two ways in.** Work that a guard applies at once uses functions without a type parameter and
/// without closures that are kept: ``look(_:in:_:)``, and the decision of a commit. Work that it
/// applies later is submitted, in functions that are never inlined: else their closures would be
/// allocated on the fast path.
package final class PropertyStore: CommittingStore {
    let stripes: Stripes<PropertyTable>
    let context: CommitContext
    let parts: StoreParts

    /// Makes an empty store.
    ///
    /// - Parameters:
    ///   - limits: The limits.
    ///   - stripeCount: The number of stripes, a power of two.
    ///   - guards: The settings of the stripes' guards.
    ///   - clock: The clock.
    ///   - revision: The revision before the first commit, which counts as released.
    ///   - parts: The parts that are attached to the store.
    ///   - betweenSteps: Called between the steps of a commit, and before each table of a reading:
    ///     a test plants a delay there, or a commit.
    package init(
        limits: StoreLimits,
        stripeCount: Int,
        guards: GuardSettings,
        clock: StoreClock = .system,
        after revision: Revision = 0,
        parts: StoreParts = StoreParts(),
        betweenSteps: (@Sendable () -> Void)? = nil
    ) {
        parts.hook?.begin(after: revision)
        let context = CommitContext(
            limits: limits,
            clock: clock,
            after: revision,
            ordersPublication: guards.kind.traits.readsDuringWrites,
            hook: parts.hook,
            betweenSteps: betweenSteps
        )
        self.context = context
        self.parts = parts
        stripes = Stripes(count: stripeCount, guards) { _ in PropertyTable(context: context) }
    }

    /// The strategy that new accesses ask.
    package var kind: StrategyKind { stripes.kind }

    /// Switches to another strategy, stripe by stripe, and blocks meanwhile.
    ///
    /// Commits are published in order as long as a reader can enter beside a writer.
    package func `switch`(to kind: StrategyKind) throws(SwitchRefusal) -> SwitchReport {
        try stripes.switch(to: kind) { context.revisions.orderPublication($0) }
    }

    /// The rules that changes are decided by.
    ///
    /// They are set by the code that executes changes one after the other, between two of them.
    package var rules: RuleLevel {
        get { context.rules }
        set { context.rules = newValue }
    }

    /// How full the store is, and the latest revision that may be shown.
    package var usage: StoreUsage { context.usage }

    /// How full the quotas are, in the order of their prefixes, changes that are not released
    /// included.
    package var quotaUsage: [QuotaUsage] { context.quotas.usage }

    /// Changes that were accepted and are not yet applied.
    package var backlogCount: Int { stripes.backlogCount }

    /// The longest backlog of a stripe; the limit is per stripe.
    package var fullestBacklogCount: Int { stripes.fullestBacklogCount }

    func index(_ name: PropertyName) -> Int {
        name.stripe(of: stripes.count)
    }
}

/// The parts that are attached to a store; all are optional.
package struct StoreParts: Sendable {
    /// Gets each commit, and says when it may be seen.
    package var hook: CommitHook?
    /// The reason to refuse all changes now; called before each one is decided.
    package var refusal: (@Sendable () -> Unavailability?)?
    /// Gets the commits that may be seen.
    package var journal: Journal?
    /// Removes properties when they expire.
    package var expiries: ExpiryQueue?
    /// Makes room where a change finds too little; without it, such a change is refused.
    package var evictor: Evictor?

    package init(
        hook: CommitHook? = nil,
        refusal: (@Sendable () -> Unavailability?)? = nil,
        journal: Journal? = nil,
        expiries: ExpiryQueue? = nil,
        evictor: Evictor? = nil
    ) {
        self.hook = hook
        self.refusal = refusal
        self.journal = journal
        self.expiries = expiries
        self.evictor = evictor
    }
}

// MARK: looking

/// The result of a look.
package enum Look: Sendable {
    /// The property, if there is one.
    case found(Property?)
    /// The answer may not be seen yet.
    case withheld(Withheld<Property?>)
    /// Nothing was looked at: the guard would do it later, on another thread.
    case later
}

extension PropertyStore {
    /// Finds a property in a scope, if that can be done at once.
    package func look(_ name: PropertyName, in scope: PropertyScope, _ ask: Ask) -> Look {
        let stripe = index(name)
        guard !stripes.appliesLater(stripe, .read) else { return .later }
        guard let hook = parts.hook else {
            return .found(stripes.read(stripe, ask) { $0.findPublished(name, in: scope) })
        }
        let answer = stripes.read(stripe, ask) { $0.findWithheld(name, in: scope) }
        return answer.revision <= hook.released ? .found(answer.value) : .withheld(answer)
    }

    package func look(
        _ name: PropertyName,
        in scope: PropertyScope,
        _ ask: Ask,
        completion: @escaping @Sendable (Property?) -> Void
    ) throws(BacklogFull) {
        try complete(look(name, in: scope, ask), name, in: scope, ask, completion: completion)
    }

    /// Calls `completion` with the result of a look: at once, or when it is found or may be seen.
    ///
    /// - Throws: ``BacklogFull`` if the strategy's backlog of reads is full.
    @inline(never)
    package func complete(
        _ look: Look,
        _ name: PropertyName,
        in scope: PropertyScope,
        _ ask: Ask,
        completion: @escaping @Sendable (Property?) -> Void
    ) throws(BacklogFull) {
        switch look {
        case .found(let property): completion(property)
        case .withheld(let answer): wait(for: answer, completion)
        case .later:
            try stripes.submitRead(
                index(name),
                ask,
                { $0.findWithheld(name, in: scope) },
                completion: { [self] in wait(for: $0, completion) }
            )
        }
    }

    private func wait(
        for answer: Withheld<Property?>,
        _ completion: @escaping @Sendable (Property?) -> Void
    ) {
        guard let hook = parts.hook else { return completion(answer.value) }
        hook.whenReleased(answer.revision) { completion(answer.value) }
    }

    package func list(
        _ request: PageRequest,
        _ ask: Ask,
        completion: @escaping @Sendable (Page) -> Void
    ) {
        guard let names = request.names else {
            return snapshot(ask) { completion(Page(request, $0)) }
        }
        let tables = TableSelection(names.map(index))
        var named = Array(repeating: [PropertyName](), count: tables.stripes.count)
        for (name, position) in zip(names, tables.positions) { named[position].append(name) }
        read(tables.stripes, ask, into: NamedContent(named)) { completion(Page($0)) }
    }

    /// Counts the properties whose names begin with the prefix.
    ///
    /// - Parameters:
    ///   - prefix: The prefix; empty for all.
    ///   - ask: The call site of the access.
    ///   - completion: Given the count and its revision.
    package func count(
        prefix: OwnedBytes,
        _ ask: Ask,
        completion: @escaping @Sendable (PropertyCount) -> Void
    ) {
        read(allTables, ask, into: CountContent(prefix)) { [self] reading in
            guard !reading.content.isWhole else {
                return completion(.count(reading.content.count, reading.revision))
            }
            snapshot(ask) { completion(.unread($0.counting(prefix: prefix), $0.revision)) }
        }
    }

    /// Takes all properties as of one revision.
    ///
    /// A stripe is held only while a reference is copied, whatever its size.
    package func snapshot(
        _ ask: Ask,
        completion: @escaping @Sendable (StoreSnapshot) -> Void
    ) {
        let useCount = context.useCount
        read(allTables, ask, into: OrderContent()) {
            completion(StoreSnapshot($0, useCount: useCount))
        }
    }
}

/// The number of properties, or the reading that counts them.
package enum PropertyCount: Sendable {
    case count(Int, Revision)
    /// Many have expired: the properties are counted some at a time.
    case unread(SnapshotCount, Revision)
}
