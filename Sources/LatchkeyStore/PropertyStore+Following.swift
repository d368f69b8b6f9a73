// What a replica does to its store beside applying commits: it takes a whole state, and jumps.
//
// **Design.** Both hold all tables. One thread calls them, which alone changes the store.

internal import Dispatch
internal import LatchkeySync

extension PropertyStore {
    /// Puts these properties in the place of all that are there, as of a later revision.
    ///
    /// That is no commit. Readers do not see a mixture in a list.
    package func replace(
        with properties: [Property],
        at revision: Revision,
        completion: @escaping @Sendable () -> Void
    ) {
        changeAll(to: revision, completion) { [stripes] tables in
            var former = StoreSize()
            for index in tables.indices {
                former += tables[index].removeAll()
            }
            tables[0].context.room.restore(StoreSize(), beyond: former)
            tables.load(properties) { stripes.index(hash: Int(truncatingIfNeeded: $0.hash)) }
        }
    }

    /// Lets the next commit follow a later revision.
    package func jump(to revision: Revision, completion: @escaping @Sendable () -> Void) {
        changeAll(to: revision, completion) { _ in }
    }

    /// Submits a write to all stripes, again and again while the strategy refuses it.
    ///
    /// Where readers do not wait for writers, the revision follows when the tables are published:
    /// no reader is shown the revision without its properties.
    private func changeAll(
        to revision: Revision,
        _ completion: @escaping @Sendable () -> Void,
        _ body: @escaping @Sendable (inout [PropertyTable]) -> Void
    ) {
        let context = context
        do throws(BacklogFull) {
            try stripes.submitWrite(
                several: Array(0..<stripes.count),
                observer: NoObserver(),
                { tables in
                    body(&tables)
                    if !ChosenStrategy.traits.readsDuringWrites {
                        context.revisions.move(to: revision)
                    }
                },
                completion: {
                    context.revisions.move(to: revision)
                    completion()
                }
            )
        } catch {
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) { [self] in
                changeAll(to: revision, completion, body)
            }
        }
    }
}
