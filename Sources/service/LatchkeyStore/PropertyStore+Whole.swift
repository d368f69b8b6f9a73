// Operations on the whole store: load, replay, replace, jump, and apply commits that were decided
// elsewhere.
//
// **Design.** All of them but apply hold all tables. Changes that readers must not see before the
// tables are made when the tables are published, before the first table is released: no writer
// enters earlier.

package import LatchkeyGuards
package import LatchkeySync

extension PropertyStore {
    /// Loads properties that an earlier process stored.
    ///
    /// Called any number of times before the store is used. That is not a commit: no revision is
    /// taken. All tables are held once for each call, and under `snapshot` copied: so a call should
    /// have many properties. A name that is loaded again has the later property.
    package func load(
        _ properties: [Property],
        completion: @escaping @Sendable () -> Void
    ) {
        writeAll({ [self] in $0.load(properties, index) }, published: {}, completion: completion)
    }

    /// Makes the changes of commits that an earlier process stored, in the order of their
    /// revisions.
    ///
    /// The store goes on after the last one, which may have no effects.
    ///
    /// Called any number of times, one after the other, before the store is used. The commits are
    /// released at once, and the hook does not receive them.
    ///
    /// - Parameters:
    ///   - commits: The commits, all after the latest revision.
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

    /// Replaces all properties by these, as of a later revision.
    ///
    /// That is not a commit. A list never shows a mixture.
    ///
    /// Called by the only thread that changes the store.
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
    /// Called by the only thread that changes the store, when all commits are released.
    package func jump(to revision: Revision, completion: @escaping @Sendable () -> Void) {
        // Before the revision is shown: no answer is to wait for it.
        parts.hook?.begin(after: revision)
        writeAll(
            { _ in },
            published: { [context] in context.revisions.move(to: revision) },
            completion: completion
        )
    }

    /// Submits a write to all stripes, until the strategy accepts it.
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
