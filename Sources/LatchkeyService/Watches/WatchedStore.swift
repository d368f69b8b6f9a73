internal import LatchkeyStore

/// What watches and histories use of a store, whatever its strategy.
struct WatchedStore: Sendable {
    let journal: Journal
    let usage: @Sendable () -> StoreUsage
    let look: @Sendable (PropertyName, @escaping @Sendable (Property?) -> Void) -> Void
    let snapshot: @Sendable (@escaping @Sendable (StoreSnapshot) -> Void) -> Void

    /// Calls `read` with the latest revision that anybody may have been shown, once the journal has
    /// all commits up to it.
    func whenCaughtUp(_ read: @escaping @Sendable (Revision) -> Void) {
        let latest = usage().revision
        journal.whenReached(latest) { read(latest) }
    }
}
