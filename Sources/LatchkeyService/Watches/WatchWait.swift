internal import LatchkeyFrame
internal import LatchkeyStore

/// A wait for the next commit that changes what is followed: a round of a long poll, or of a
/// transaction that waits.
struct WatchWait: Sendable {
    /// Why a wait is over.
    enum End: Sendable {
        case changed
        case timeUp
        case draining
        /// The client may not do that any more.
        case revoked
        /// The client wants no answer any more.
        case gone
    }

    let filter: WatchFilter
    /// Commits up to this revision do not count.
    let since: Revision
    /// It is over when all commits up to this revision are there, too, whatever they change.
    var until: Revision = .max
    /// When the time is up, in nanoseconds of the monotonic clock.
    let deadlineNanoseconds: UInt64
    var caller = Caller.anybody
    /// Whether the client may still do what it waits for.
    var isAllowed: @Sendable () -> Bool = { true }
    /// Where it comes from, for the list of watches.
    var visitor: WatchVisitor?
    /// What is shown there; nil for `filter`.
    var shownFilter: WatchFilter?
    /// Called once, on the pump's thread: it must not block.
    let resume: @Sendable (End) -> Void

    func isMet(by commit: Commit) -> Bool {
        commit.effects.contains(where: filter.matches)
    }
}
