internal import Dispatch
public import LatchkeySync
internal import Synchronization

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

    /// How full the store is, and the latest revision that is released.
    package var usage: StoreUsage { base.usage }

    /// Changes that were accepted and are not yet applied.
    package var backlogCount: Int { base.backlogCount }

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
        let byteCount = change.byteCount
        try hook.admit(byteCount)
        do throws(BacklogFull) {
            try submit(change, byteCount, observer: observer) { answer in
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
                { $0.executeWithheld(step, property, takenByteCount: byteCount) },
                completion: completion
            )
        case .transaction(let transaction):
            let prepared = base.prepare(transaction, at: nil)
            try base.submitWrite(
                prepared.tables,
                observer: observer,
                { $0.executeWithheld(prepared, takenByteCount: byteCount) },
                completion: completion
            )
        }
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

    /// As ``PropertyStore/evict(inStripeOf:observer:completion:)``; nil also if the commit was
    /// withdrawn.
    package func evict(
        inStripeOf name: PropertyName,
        completion: @escaping @Sendable (Commit?) -> Void = { _ in }
    ) throws(BacklogFull) {
        try hook.admit(0)
        do throws(BacklogFull) {
            try base.submitWrite(
                base.index(name),
                observer: NoObserver(),
                { $0.evictAllWithheld() },
                completion: { answer in
                    guard let answer, case .success(let commit) = answer.value else {
                        completion(nil)
                        return
                    }
                    hook.pass(commit, answer.generation, note: nil) { outcome in
                        if case .released = outcome {
                            completion(commit)
                        } else {
                            completion(nil)
                        }
                    }
                }
            )
        } catch {
            hook.giveBack(0)
            throw error
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

// What happens to the whole store.

extension HookedStore {
    /// Puts properties in their places that an earlier process stored.
    ///
    /// Called any number of times before the store is used. That is no commit: no revision is
    /// taken. All tables are held once for each call, and under `snapshot` copied: so a call has
    /// many properties. A name that is loaded again has the later property.
    package func load(
        _ properties: [Property],
        completion: @escaping @Sendable () -> Void
    ) {
        writeAll(
            observer: NoObserver(),
            { [stripes = base.stripes] tables in
                tables.load(properties) { stripes.index(hash: Int(truncatingIfNeeded: $0.hash)) }
            },
            completion: completion
        )
    }

    /// Makes the changes of commits that an earlier process stored, in the order of their
    /// revisions and without a gap.
    ///
    /// Called any number of times, one after the other, before the store is used. The commits are
    /// released at once, and the hook does not receive them.
    ///
    /// - Parameters:
    ///   - commits: Behind the latest revision.
    ///   - completion: Given the commits with the properties that were there before them.
    package func replay(
        _ commits: [StoredCommit],
        completion: @escaping @Sendable ([Commit]) -> Void
    ) {
        writeAll(
            observer: NoObserver(),
            { [stripes = base.stripes] tables in
                tables.replay(commits) { stripes.index(hash: Int(truncatingIfNeeded: $0.hash)) }
            },
            completion: { replayed in
                if let last = replayed.last {
                    hook.begin(after: last.revision)
                }
                completion(replayed)
            }
        )
    }

    /// Takes back all commits behind a revision, none of which is released.
    ///
    /// Their changes are refused as ``Refusal/withdrawn(_:)``. Other answers that depend on them
    /// are decided again. Their revisions are used again.
    ///
    /// No two withdrawals overlap: the next one is begun when the completion has returned.
    ///
    /// - Parameters:
    ///   - revision: All commits up to this one were received.
    ///   - reason: Told to those whose changes are refused.
    ///   - completion: Until it is called, the hook receives only commits from before the
    ///     withdrawal. Afterwards those behind `revision` are to be forgotten, and the hook
    ///     receives only later ones. It must not block. The answers are sent behind it.
    package func withdraw(
        after revision: Revision,
        _ reason: Withdrawal,
        completion: @escaping @Sendable () -> Void
    ) {
        let end = WithdrawalEnd(base.context, revision, reason)
        writeAll(
            observer: WithdrawalObserver(end: end),
            { [stripes = base.stripes] tables in
                tables.takeBack(after: revision) {
                    stripes.index(hash: Int(truncatingIfNeeded: $0.hash))
                }
                if !ChosenStrategy.traits.readsDuringWrites {
                    end.reach()
                }
            },
            completion: { [hook] in hook.endWithdrawal(completion) }
        )
    }

    /// Submits a write to all stripes, again and again while the strategy refuses it.
    private func writeAll<Observer: EntryObserver, Result: Sendable>(
        observer: Observer,
        _ body: @escaping @Sendable (inout [PropertyTable]) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) {
        do throws(BacklogFull) {
            try base.stripes.submitWrite(
                several: Array(0..<base.stripes.count),
                observer: observer,
                body,
                completion: completion
            )
        } catch {
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) {
                writeAll(observer: observer, body, completion: completion)
            }
        }
    }
}

/// The moment of a withdrawal from which on nobody can see what was taken back.
///
/// Where readers wait for writers, that is inside the guarded section. Else it is when all tables
/// are published, before the first of them is left. In both cases no writer is let in before.
private final class WithdrawalEnd: Sendable {
    private let context: CommitContext
    private let revision: Revision
    private let reason: Withdrawal
    private let isReached = Atomic<Bool>(false)

    init(_ context: CommitContext, _ revision: Revision, _ reason: Withdrawal) {
        self.context = context
        self.revision = revision
        self.reason = reason
    }

    /// Relaxed: all calls are made by one thread.
    func reach() {
        if !isReached.exchange(true, ordering: .relaxed) {
            context.betweenSteps?()
            context.endTakingBack(to: revision, reason)
        }
    }
}

/// Ends a withdrawal when it leaves the first guarded section.
private struct WithdrawalObserver: EntryObserver {
    typealias Entry = NoObserver.Entry

    static var isActive: Bool { false }

    let end: WithdrawalEnd

    func asks(_ request: AccessRequest) -> Entry { NoObserver().asks(request) }
    func isBlocked(_ entry: inout Entry) {}
    func enters(_ entry: inout Entry) {}
    func leaves(_ entry: Entry) { end.reach() }
    func givesUp(_ entry: Entry) {}
}
