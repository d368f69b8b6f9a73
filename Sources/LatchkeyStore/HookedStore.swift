public import LatchkeySync

/// A store whose commits all pass a hook, and which shows no commit before the hook releases it.
///
/// **Design.** A type of its own, not a branch in each operation of ``PropertyStore``: a completion
/// that may have to wait is kept, so it must be allocated. A store without a hook, compiled for
/// most locks, keeps the completion of a read on the stack.
///
/// What is decided again, because a withdrawal took away what it was decided by, goes through the
/// same functions: so it can be withdrawn again. A read is then submitted as one of all stripes,
/// which no strategy refuses.
@usableFromInline
package struct HookedStore<ChosenStrategy: Strategy>: CommittingStore {
    @usableFromInline let base: PropertyStore<ChosenStrategy>
    @usableFromInline let hook: CommitHook

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
        self.init(
            limits: limits,
            stripeCount: stripeCount,
            strategy: strategy,
            clock: clock,
            after: revision,
            hook: hook,
            betweenSteps: nil
        )
    }

    init(
        limits: StoreLimits,
        stripeCount: Int,
        strategy: () -> ChosenStrategy,
        clock: StoreClock,
        after revision: Revision,
        hook: CommitHook,
        betweenSteps: (@Sendable () -> Void)?
    ) {
        self.hook = hook
        hook.begin(after: revision)
        base = PropertyStore(
            limits: limits,
            stripeCount: stripeCount,
            strategy: strategy,
            clock: clock,
            after: revision,
            hook: hook,
            betweenSteps: betweenSteps
        )
    }

    /// As ``PropertyStore/rules``.
    package var rules: RuleLevel {
        get { base.rules }
        nonmutating set { base.rules = newValue }
    }

    /// How full the store is, and the latest revision that is released.
    package var usage: StoreUsage { base.usage }

    /// How full the quotas are, changes that are not released included.
    package var quotaUsage: [QuotaUsage] { base.quotaUsage }

    /// Changes that were accepted and are not yet applied.
    package var backlogCount: Int { base.backlogCount }

    /// Those of the stripe that has the most.
    package var fullestBacklogCount: Int { base.fullestBacklogCount }

    @inlinable
    package func look(
        _ name: PropertyName,
        in scope: PropertyScope,
        observer: some EntryObserver,
        completion: @escaping @Sendable (Property?) -> Void
    ) throws(BacklogFull) {
        let generation = hook.generation
        try base.stripes.submitRead(
            base.index(name),
            observer: observer,
            { $0.findWithheld(name, in: scope, generation) },
            completion: { answer in
                if hook.isReleased(answer.revision, generation) {
                    completion(answer.value)
                } else {
                    wait(for: answer, name, scope, completion)
                }
            }
        )
    }

    @usableFromInline
    func wait(
        for answer: Withheld<Property?>,
        _ name: PropertyName,
        _ scope: PropertyScope,
        _ completion: @escaping @Sendable (Property?) -> Void
    ) {
        hook.whenDecided(answer.revision, answer.generation) { outcome in
            switch outcome {
            case .released: completion(answer.value)
            case .withdrawn: lookAgain(name, scope, completion)
            }
        }
    }

    private func lookAgain(
        _ name: PropertyName,
        _ scope: PropertyScope,
        _ completion: @escaping @Sendable (Property?) -> Void
    ) {
        let (generation, index) = (hook.generation, base.index(name))
        base.stripes.submitReadAll(
            { $0[index].findWithheld(name, in: scope, generation) },
            completion: { wait(for: $0, name, scope, completion) }
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

    /// As ``PropertyStore/execute(_:at:observer:receiver:)``.
    ///
    /// A change that has to be decided again is, as of the store's clock.
    @inlinable
    package func execute(
        _ change: Change,
        at time: Timestamp?,
        observer: some EntryObserver,
        receiver: some DecisionReceiver
    ) throws(BacklogFull) {
        let byteCount = change.byteCount
        try hook.admit(byteCount)
        do throws(BacklogFull) {
            try submit(change, at: time, byteCount, observer: observer) { answer in
                self.answer(answer, change, observer, receiver)
            }
        } catch {
            hook.giveBack(byteCount)
            throw error
        }
    }

    @inlinable
    @inline(__always)
    func submit(
        _ change: Change,
        at time: Timestamp?,
        _ byteCount: Int,
        observer: some EntryObserver,
        completion: @escaping @Sendable (Withheld<Decision>) -> Void
    ) throws(BacklogFull) {
        switch change {
        case .step(let step):
            let property = step.prepare()
            try base.submitWrite(
                base.index(step.name),
                observer: observer,
                { $0.executeWithheld(step, property, at: time, takenByteCount: byteCount) },
                completion: completion
            )
        case .transaction(let transaction):
            let prepared = base.prepare(transaction, at: time)
            guard prepared.claimPairCount > 0 else {
                return try submit(prepared, byteCount, observer, completion)
            }
            try base.submitPassing(
                prepared,
                observer: observer,
                { $0.executeWithheldIfKnown(prepared, takenByteCount: byteCount) },
                completion: completion
            )
        }
    }

    @inlinable
    func submit(
        _ prepared: PreparedTransaction,
        _ byteCount: Int,
        _ observer: some EntryObserver,
        _ completion: @escaping @Sendable (Withheld<Decision>) -> Void
    ) throws(BacklogFull) {
        try base.submitWrite(
            prepared.tables,
            observer: observer,
            { $0.executeWithheld(prepared, takenByteCount: byteCount) },
            completion: completion
        )
    }

    @inlinable
    func answer(
        _ answer: Withheld<Decision>,
        _ change: Change,
        _ observer: some EntryObserver,
        _ receiver: some DecisionReceiver
    ) {
        if case .success(let commit) = answer.value, !commit.isEmpty {
            let note = receiver.note(for: commit)
            hook.pass(commit, answer.generation, note: note) { outcome in
                switch outcome {
                case .released: receiver.receive(answer.value)
                case .withdrawn(let reason): receiver.receive(.failure(.withdrawn(reason)))
                }
            }
        } else if hook.isReleased(answer.revision, answer.generation) {
            receiver.receive(answer.value)
        } else {
            hook.whenDecided(answer.revision, answer.generation) { outcome in
                switch outcome {
                case .released: receiver.receive(answer.value)
                case .withdrawn: commitAgain(change, observer, receiver)
                }
            }
        }
    }

    @inlinable
    func commitAgain(
        _ change: Change,
        _ observer: some EntryObserver,
        _ receiver: some DecisionReceiver
    ) {
        do throws(BacklogFull) {
            try commit(change, observer: observer, receiver: receiver)
        } catch {
            receiver.receive(.failure(.backlogFull))
        }
    }

    @usableFromInline
    package func list(
        _ request: PageRequest,
        observer: some EntryObserver = NoObserver(),
        completion: @escaping @Sendable (Page) -> Void
    ) {
        let generation = hook.generation
        base.list(request, observer: observer) { page in
            hook.whenDecided(page.revision, generation) { outcome in
                switch outcome {
                case .released: completion(page)
                case .withdrawn: list(request, observer: observer, completion: completion)
                }
            }
        }
    }

    @usableFromInline
    package func snapshot(completion: @escaping @Sendable (StoreSnapshot) -> Void) {
        let generation = hook.generation
        base.snapshot { taken in
            hook.whenDecided(taken.revision, generation) { outcome in
                switch outcome {
                case .released: completion(taken)
                case .withdrawn: snapshot(completion: completion)
                }
            }
        }
    }
}
