internal import Dispatch
internal import LatchkeyStore
internal import LatchkeyStrategies

/// What watches and histories use of a store, whatever its strategy.
///
/// **Design.** The journal calls those who wait for it on the thread of a writer. What they read
/// then can be long, so it is read on a serial queue, which takes one processor at most. Who need
/// not wait reads on its own thread, one piece; what is longer continues on the queue, piece by
/// piece and in turns with others, so that no thread that serves reads a long history.
struct WatchedStore: Sendable {
    let journal: Journal
    let usage: @Sendable () -> StoreUsage
    let look: Look
    let snapshot: @Sendable (@escaping @Sendable (StoreSnapshot) -> Void) -> Void

    typealias Look =
        @Sendable (
            PropertyName, PropertyScope, @escaping @Sendable (Property?) -> Void
        ) throws(BacklogFull) -> Void

    private let queue = DispatchQueue(label: "latchkey.histories")

    /// Calls `read` with the latest revision that anybody may have been shown, once the journal has
    /// all commits up to it.
    func whenCaughtUp(_ read: @escaping @Sendable (Revision) -> Void) {
        let latest = usage().revision
        guard latest > journal.last else {
            read(latest)
            return
        }
        journal.whenReached(latest) {
            queue.async { read(latest) }
        }
    }

    /// Calls `proceed` on the queue, after those who were there before.
    func later(_ proceed: @escaping @Sendable () -> Void) {
        queue.async { proceed() }
    }
}
