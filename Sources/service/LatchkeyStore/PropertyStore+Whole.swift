// What is done to the whole store: it is loaded, replayed, replaced, it jumps, and it applies what
// was decided elsewhere.
//
// **Design.** Everything here but applying holds all tables. What readers must not see before the
// tables happens when the tables are published, before the first of them is left: no writer is let
// in before.

package import LatchkeyGuards
package import LatchkeySync

extension PropertyStore {
    /// Puts properties in their places that an earlier process stored.
    ///
    /// Called any number of times before the store is used. That is no commit: no revision is
    /// taken. All tables are held once for each call, and under `snapshot` copied: so a call has
    /// many properties. A name that is loaded again has the later property.
    package func load(
        _ properties: [Property],
        completion: @escaping @Sendable () -> Void
    ) {
        writeAll({ [self] in $0.load(properties, index) }, published: {}, completion: completion)
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
            { [self] in $0.replay(commits, index) },
            published: { [context] in
                commits.last.map { context.revisions.move(to: $0.revision) }
            },
            completion: { [self] replayed in
                if let last = replayed.last {
                    parts.hook?.begin(after: last.revision)
                }
                completion(replayed)
            }
        )
    }

    /// Puts these properties in the place of all that are there, as of a later revision.
    ///
    /// That is no commit. Readers do not see a mixture in a list.
    ///
    /// Called by the thread that alone changes the store.
    package func replace(
        with properties: [Property],
        at revision: Revision,
        completion: @escaping @Sendable () -> Void
    ) {
        writeAll(
            { [self] in $0.replace(with: properties, index) },
            published: { [context] in context.revisions.move(to: revision) },
            completion: { [parts] in
                parts.expiries?.look()
                completion()
            }
        )
    }

    /// Lets the next commit follow a later revision, which counts as released.
    ///
    /// Called by the thread that alone changes the store, when all commits are released.
    package func jump(to revision: Revision, completion: @escaping @Sendable () -> Void) {
        // Before anybody is shown the revision: no answer is to wait for it.
        parts.hook?.begin(after: revision)
        writeAll(
            { _ in },
            published: { [context] in context.revisions.move(to: revision) },
            completion: completion
        )
    }

    /// Submits a write to all stripes, again and again while the strategy refuses it.
    private func writeAll<Result: Sendable>(
        _ body: @escaping @Sendable (inout [PropertyTable]) -> Result,
        published: @escaping @Sendable () -> Void,
        completion: @escaping @Sendable (Result) -> Void
    ) {
        Self.untilAccepted { [stripes] () throws(BacklogFull) in
            try stripes.submitWrite(
                several: Array(0..<stripes.count),
                .here(),
                body,
                published: published,
                completion: completion
            )
        }
    }

    /// Makes the change of a commit that was decided elsewhere, without deciding again.
    ///
    /// Commits are applied in the order of their revisions, one after the other, while nothing else
    /// changes the store.
    package func apply(
        _ commit: Commit,
        _ ask: Ask,
        completion: @escaping @Sendable () -> Void
    ) throws(BacklogFull) {
        let tables = TableSelection(commit.names.map(index))
        try stripes.submitWrite(
            several: tables.stripes,
            ask,
            { $0.apply(commit, tables.positions) },
            published: { [context] in context.published() },
            completion: completion
        )
    }
}
