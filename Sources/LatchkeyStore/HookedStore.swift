public import LatchkeySync

/// A store whose commits all pass a hook, and which shows no commit before the hook releases it.
///
/// **Design.** A type of its own, not a branch in each operation of ``PropertyStore``: a completion
/// that may have to wait is kept, so it must be allocated. A store without a hook, compiled for
/// most locks, keeps the completion of a read on the stack.
@usableFromInline
package struct HookedStore<ChosenStrategy: Strategy>: CommittingStore {
    private let base: PropertyStore<ChosenStrategy>
    private let hook: CommitHook

    /// Makes an empty store, with a strategy of its own for each stripe.
    ///
    /// `revision` is the one before the first commit, and counts as released.
    package init(
        limits: StoreLimits,
        stripeCount: Int,
        strategy: () -> ChosenStrategy,
        clock: StoreClock = .system,
        after revision: Revision = 0,
        hook: CommitHook
    ) {
        self.hook = hook
        hook.release(through: revision)
        base = PropertyStore(
            limits: limits,
            stripeCount: stripeCount,
            strategy: strategy,
            clock: clock,
            after: revision,
            hook: hook
        )
    }

    /// How full the store is, and the latest revision that is released.
    package var usage: StoreUsage { base.usage }

    /// Changes that were accepted and are not yet applied.
    package var backlogCount: Int { base.backlogCount }

    @usableFromInline
    package func look(
        _ name: PropertyName,
        in scope: PropertyScope,
        observer: some EntryObserver,
        completion: @escaping @Sendable (Property?) -> Void
    ) throws(BacklogFull) {
        try base.stripes.submitRead(
            base.index(name),
            observer: observer,
            { $0.findWithheld(name, in: scope) },
            completion: { answer in
                hook.whenReleased(answer.revision) { completion(answer.value) }
            }
        )
    }

    @usableFromInline
    package func commit(
        _ change: Change,
        observer: some EntryObserver,
        receiver: some DecisionReceiver
    ) throws(BacklogFull) {
        let answer = { @Sendable [hook] (answer: Withheld<Decision>) in
            if case .success(let commit) = answer.value, !commit.isEmpty {
                hook.pass(commit)
            }
            hook.whenReleased(answer.revision) { receiver.receive(answer.value) }
        }
        switch change {
        case .step(let step):
            let property = step.prepare()
            try base.submitWrite(
                base.index(step.name),
                observer: observer,
                { $0.executeWithheld(step, property) },
                completion: answer
            )
        case .transaction(let transaction):
            let prepared = base.prepare(transaction, at: nil)
            try base.submitWrite(
                prepared.tables,
                observer: observer,
                { $0.executeWithheld(prepared) },
                completion: answer
            )
        }
    }

    /// As ``PropertyStore/evict(inStripeOf:observer:completion:)``.
    package func evict(
        inStripeOf name: PropertyName,
        completion: @escaping @Sendable (Commit?) -> Void = { _ in }
    ) throws(BacklogFull) {
        try base.evict(inStripeOf: name) { commit in
            if let commit {
                hook.pass(commit)
            }
            hook.whenReleased(commit?.revision ?? 0) { completion(commit) }
        }
    }

    /// As ``PropertyStore/apply(_:observer:completion:)``.
    ///
    /// The hook is not given the commit, which is released.
    package func apply(
        _ commit: Commit,
        completion: @escaping @Sendable () -> Void
    ) throws(BacklogFull) {
        try base.apply(commit) {
            hook.release(through: commit.revision)
            completion()
        }
    }

    @usableFromInline
    package func list(
        _ request: PageRequest,
        observer: some EntryObserver = NoObserver(),
        completion: @escaping @Sendable (Page) -> Void
    ) {
        base.list(request, observer: observer) { page in
            hook.whenReleased(page.revision) { completion(page) }
        }
    }

    @usableFromInline
    package func snapshot(completion: @escaping @Sendable (StoreSnapshot) -> Void) {
        base.snapshot { snapshot in
            hook.whenReleased(snapshot.revision) { completion(snapshot) }
        }
    }
}
