internal import LatchkeyStore

/// A wait for the next commit that changes one name: a round of a long poll.
struct WatchWait: Sendable {
    /// Why a wait is over.
    enum End: Sendable {
        case changed
        case timeUp
        case draining
        /// The token of the client counts no more.
        case revoked
        /// The client wants no answer any more.
        case gone
    }

    let name: [UInt8]
    /// Commits up to this revision do not count.
    let since: Revision
    /// When the time is up, in nanoseconds of the monotonic clock.
    let deadlineNanoseconds: UInt64
    var caller = Caller.anybody
    /// Called once, on the pump's thread: it must not block.
    let resume: @Sendable (End) -> Void

    /// Whether a commit changes the name.
    func isMet(by commit: Commit) -> Bool {
        commit.effects.contains { unsafe $0.nameBytes.elementsEqual(name) }
    }
}
