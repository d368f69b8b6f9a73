internal import LatchkeySync
internal import Synchronization

/// Is given every commit of a ``HookedStore``, and says when it may be seen.
///
/// **Design.** A journal, or a replicated log, stands behind it. It is given each commit once, with
/// its revision, after the guarded section and before anybody else has seen it, on whatever thread
/// made it: so commits of different properties can come out of the order of their revisions, which
/// have no gap. What it releases is always a revision and all before it.
///
/// Until then answers that depend on the commit wait: that to the change itself, reads of the
/// properties that it changed, refusals that were decided by them, and pages. Nothing else waits,
/// no thread does, and no section is held: what waits is a closure in `waiting`, which the thread
/// calls that releases.
@usableFromInline
package final class CommitHook: Sendable {
    private struct Waiting {
        let revision: Revision
        let proceed: @Sendable () -> Void
    }

    private let receive: @Sendable (Commit) -> Void
    private let releasedRevision = Atomic<Revision>(0)
    private let waiting = Synchronized<[Waiting], LockStrategy>([])

    /// - Parameter receive: Called with each commit; it must not block. It may call
    ///   ``release(through:)``.
    package init(_ receive: @escaping @Sendable (Commit) -> Void) {
        self.receive = receive
    }

    /// The latest revision that is released.
    ///
    /// Acquiring: pairs with the store in ``release(through:)``, so that whoever sees a revision as
    /// released sees what was done to make it so.
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

    /// Gives the commit to whoever is behind the hook, before the answer that brings it waits.
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
/// A property that is there says by its own revision what a read of it depends on; one that was
/// deleted cannot.
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
    /// Names of the same hash count as one: a read then waits for a commit too many.
    func revision(of name: PropertyName) -> Revision {
        deletions.last { $0.hash == name.hash }?.revision ?? 0
    }
}
