internal import LatchkeyStore

/// A search for the state of the store as of a revision, piece by piece.
///
/// The state is a snapshot without the changes since the revision.
///
/// SAFETY: `@unchecked Sendable` because pieces are read one after the other, on the queue of all
/// exports.
final class PastState: @unchecked Sendable {
    enum Progress {
        /// The state.
        case whole(StateWalk)
        /// The journal does not hold the changes since.
        case gone
        /// There is more to read.
        case more
    }

    private let snapshot: StoreSnapshot
    private let revision: Revision
    private let prefix: OwnedBytes
    private var commits: [Commit] = []
    /// All commits up to here were read.
    private var place: Revision

    init(_ snapshot: StoreSnapshot, of revision: Revision, _ prefix: OwnedBytes) {
        self.snapshot = snapshot
        self.revision = revision
        self.prefix = prefix
        place = revision
    }

    /// Reads a piece of the journal; writers wait meanwhile.
    func read(_ journal: Journal) -> Progress {
        guard place < snapshot.revision else {
            return .whole(StateWalk(snapshot, undoing: commits, to: revision, prefix: prefix))
        }
        let reading = journal.commits(
            after: place,
            through: snapshot.revision,
            countMax: 256,
            of: [unsafe Array(prefix.bytes)]
        )
        guard case .commits(let piece, let end) = reading, end > place else {
            return .gone
        }
        commits += piece
        place = end
        return .more
    }
}
