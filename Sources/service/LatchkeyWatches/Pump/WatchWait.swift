package import LatchkeyFrame
package import LatchkeyStore

/// A wait for the next commit that changes a followed property: a round of a long poll, or of a
/// transaction that waits.
package struct WatchWait: Sendable {
    /// The reason why a wait is over.
    package enum End: Sendable {
        case changed
        case timeUp
        case draining
        /// The client has no right to that any more.
        case revoked
        /// The client wants no answer any more.
        case gone
    }

    package let filter: WatchFilter
    /// Commits up to this revision do not count.
    package let since: Revision
    /// The wait also ends when all commits up to this revision are there, whatever they change.
    package var until: Revision
    /// When the time is up, in nanoseconds of the monotonic clock.
    package let deadlineNanoseconds: UInt64
    package var caller: Caller
    /// Whether the client may still do what it waits for.
    package var isAllowed: @Sendable () -> Bool
    /// The origin of the wait, for the list of watches.
    package var visitor: WatchVisitor?
    /// The filter that is shown there; nil for `filter`.
    package var shownFilter: WatchFilter?
    /// Called once, on the pump's thread: it must not block.
    package let resume: @Sendable (End) -> Void

    package init(
        filter: WatchFilter,
        since: Revision,
        until: Revision = .max,
        deadlineNanoseconds: UInt64,
        caller: Caller = .anybody,
        isAllowed: @escaping @Sendable () -> Bool = { true },
        visitor: WatchVisitor? = nil,
        shownFilter: WatchFilter? = nil,
        resume: @escaping @Sendable (End) -> Void
    ) {
        self.filter = filter
        self.since = since
        self.until = until
        self.deadlineNanoseconds = deadlineNanoseconds
        self.caller = caller
        self.isAllowed = isAllowed
        self.visitor = visitor
        self.shownFilter = shownFilter
        self.resume = resume
    }

    func isMet(by commit: Commit) -> Bool {
        commit.effects.contains(where: filter.matches)
    }
}
