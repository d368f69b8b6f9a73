internal import LatchkeySync
internal import Synchronization

/// Receives every commit of a ``HookedStore``, and says when it may be seen.
///
/// **Design.** A journal or a replicated log uses it. It receives each commit once, with its
/// revision, after the guarded section, before any answer shows it, and on the thread that made it.
/// So commits can arrive out of the order of their revisions, even two commits of one property. A
/// hook orders them by revision: revisions have no gap. A release is always of one revision and all
/// before it.
///
/// Until then, answers that depend on the commit wait: the answer to the change itself, reads of
/// the properties that it changed, refusals that were decided by them, and pages. Nothing else
/// waits. A waiting answer is a closure in `waiting`, which the releasing thread calls. It blocks
/// no thread and holds no guarded section.
@usableFromInline
package final class CommitHook: Sendable {
    private struct Waiting {
        let revision: Revision
        let proceed: @Sendable () -> Void
    }

    private let receive: @Sendable (Commit) -> Void
    private let releasedRevision = Atomic<Revision>(0)
    private let waiting = Guarded<[Waiting]>([])

    /// - Parameter receive: Called with each commit; it must not block. It may call
    ///   ``release(through:)``.
    package init(_ receive: @escaping @Sendable (Commit) -> Void) {
        self.receive = receive
    }

    /// The latest revision that is released.
    ///
    /// Acquiring: pairs with the store in ``release(through:)``, so that a thread that sees a
    /// revision as released sees what was done to release it.
    var released: Revision { releasedRevision.load(ordering: .acquiring) }

    /// Lets everybody see the commits up to this revision.
    ///
    /// The answers that waited for it are sent on the calling thread, in the order of revisions.
    package func release(through revision: Revision) {
        let ready = waiting.write { waiting in
            guard revision > released else {
                return [Waiting]()
            }
            releasedRevision.store(revision, ordering: .releasing)
            let ready = waiting.filter { $0.revision <= revision }
            waiting.removeAll { $0.revision <= revision }
            return ready.sorted { $0.revision < $1.revision }
        }
        for answer in ready {
            answer.proceed()
        }
    }

    /// Gives the commit to the user of the hook, before its answer waits.
    func pass(_ commit: Commit) {
        receive(commit)
    }

    /// Calls `proceed` once the revision is released: at once if it is.
    func whenReleased(_ revision: Revision, _ proceed: @escaping @Sendable () -> Void) {
        let isReleased =
            revision <= released
            || waiting.write { waiting in
                guard revision > released else {
                    return true
                }
                waiting.append(Waiting(revision: revision, proceed: proceed))
                return false
            }
        if isReleased {
            proceed()
        }
    }
}

/// An answer, and the revision that it must not be seen before.
@usableFromInline
struct Withheld<Value: Sendable>: Sendable {
    let value: Value
    let revision: Revision
}

/// The deletions of a table that may not be released yet.
///
/// An existing property has the revision that a read of it depends on; a deleted one has none.
struct WithheldDeletions: Sendable {
    private struct Deletion {
        let hash: UInt64
        let revision: Revision
    }

    private var deletions: [Deletion] = []

    mutating func add(_ name: PropertyName, _ revision: Revision, released: Revision) {
        deletions.removeAll { $0.revision <= released }
        deletions.append(Deletion(hash: name.hash, revision: revision))
    }

    /// The revision of the latest deletion of the name, 0 if all are released.
    ///
    /// Names of the same hash count as one: a read then waits for one commit more.
    func revision(of name: PropertyName) -> Revision {
        deletions.last { $0.hash == name.hash }?.revision ?? 0
    }
}
