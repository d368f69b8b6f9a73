// What is done to the whole store behind a hook: it is loaded, replayed, it jumps, and its last
// commits are withdrawn.
//
// **Design.** Everything here holds all tables. The flag of a withdrawal's end is used by one
// thread, which writes.

internal import Dispatch
internal import LatchkeySync
internal import Synchronization

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
    /// revisions.
    ///
    /// The store goes on behind the last one, which may have no effects.
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

    /// Lets the next commit follow a later revision, which counts as released.
    ///
    /// Called by the thread that alone changes the store, when all commits are released.
    package func jump(to revision: Revision, completion: @escaping @Sendable () -> Void) {
        // Before anybody is shown the revision: no answer is to wait for it.
        hook.begin(after: revision)
        base.jump(to: revision, completion: completion)
    }

    /// Takes back all commits behind a revision, none of which is released.
    ///
    /// Their changes are refused as ``Refusal/withdrawn(_:)``. Other answers that depend on them
    /// are decided again. Their revisions are used again.
    ///
    /// No two withdrawals overlap: another thread begins the next one when the completion was
    /// called.
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

/// The moment of a withdrawal from which on no thread can see what was taken back.
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
