internal import Dispatch
internal import LatchkeyFrame
package import LatchkeyHTTP
package import LatchkeyStore
internal import LatchkeyStrategies

/// The parts of a store that watches and histories use.
///
/// **Design.** The journal calls waiting reads on the thread of a writer. They can be long, so they
/// run on a serial queue, which takes one processor at most. A read that need not wait reads one
/// piece on its own thread; a longer one continues on the queue, piece by piece and in turns with
/// others, so that no serving thread reads a long history. Clients have their turns one after the
/// other, however many reads each of them has.
package struct WatchedHistory: Sendable {
    package let base: PropertyStore
    package let journal: Journal
    private let queue = DispatchQueue(label: "latchkey.histories")
    private let turns = Synchronized<ClientTurns<@Sendable () -> Void>, AdaptiveStrategy>(
        ClientTurns()
    )

    init(_ base: PropertyStore, _ journal: Journal) {
        (self.base, self.journal) = (base, journal)
    }

    package var usage: StoreUsage { base.usage }

    /// Calls `read` with the latest revision that any client may have been shown, once the journal
    /// has all commits up to it.
    package func whenCaughtUp(
        for client: ClientKey? = nil,
        _ read: @escaping @Sendable (Revision) -> Void
    ) {
        let latest = usage.revision
        guard latest > journal.last else {
            read(latest)
            return
        }
        journal.whenReached(latest) {
            later(for: client) { read(latest) }
        }
    }

    /// Calls `proceed` on the queue when it is the client's turn, after the client's earlier calls.
    package func later(for client: ClientKey? = nil, _ proceed: @escaping @Sendable () -> Void) {
        turns.write { $0.append(proceed, of: client) }
        queue.async { [turns] in
            turns.write { $0.popFirst() }?()
        }
    }
}
