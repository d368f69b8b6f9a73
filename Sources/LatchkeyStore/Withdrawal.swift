/// Why commits were withdrawn: made, but taken back before anybody was shown them.
package enum Withdrawal: Hashable, Sendable {
    /// There is no room to write them down. They never show up later.
    case full
    /// They could not be written down. They never show up later.
    case unavailable
    /// The same, and no later ones will be: the data folder is gone.
    case gone
    /// They were not ordered, and no later ones will be: this replica has stopped.
    case stopped
    /// They could not be written down for certain: they can be there after a restart.
    case unknown
}

/// How many withdrawals there were before an answer was decided.
///
/// Revisions that are withdrawn are used again. So a revision names a commit only together with the
/// generation.
typealias Generation = UInt64

/// The latest withdrawals.
struct Withdrawals: Sendable {
    private struct Entry: Sendable {
        /// The last revision that was not withdrawn.
        let revision: Revision
        let reason: Withdrawal
    }

    /// How many are remembered.
    ///
    /// An answer that is older than all of them counts as withdrawn for unknown reasons. For that
    /// its thread must have slept through so many failures.
    static let countMax = 1024

    private var entries = RingBuffer<Entry>()
    /// That of the answers that the first entry withdrew.
    private var first: Generation = 0

    /// Adds the withdrawal of all answers of the current generation above a revision.
    mutating func add(after revision: Revision, _ reason: Withdrawal) {
        entries.append(Entry(revision: revision, reason: reason))
        if entries.count > Self.countMax {
            _ = entries.popFirst()
            first += 1
        }
    }

    /// Why the answer was withdrawn that depends on this revision; nil if it was not.
    func reason(_ revision: Revision, _ generation: Generation) -> Withdrawal? {
        guard generation >= first else {
            return .unknown
        }
        for index in Int(generation - first)..<max(entries.count, Int(generation - first))
        where entries[index].revision < revision {
            return entries[index].reason
        }
        return nil
    }
}
