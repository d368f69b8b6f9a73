internal import LatchkeyStore

/// A wait for the next commit that changes one name: a round of a long poll.
struct WatchWait: Sendable {
    /// Why a wait is over.
    enum End: Sendable {
        case changed
        case timeUp
        case draining
        /// The client may not read the property any more.
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

    /// Whether the client may still read the property.
    var isAllowed: Bool { caller.allows(.read, prefix: name) && !caller.isRevoked }

    /// Whether a commit changes the name.
    func isMet(by commit: Commit) -> Bool {
        commit.effects.contains { unsafe $0.nameBytes.elementsEqual(name) }
    }
}
