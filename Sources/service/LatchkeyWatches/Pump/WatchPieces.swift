internal import LatchkeyHTTP
internal import LatchkeyStore

/// Events in a row as they are sent, however many watchers get them.
struct WatchPiece {
    let start: WatchPlace
    let end: WatchPlace
    let eventCount: Int
    let hasTimes: Bool
    /// Whether it has as much as one piece can have.
    let isWhole: Bool
    /// Nil without events.
    let bytes: StreamPiece?

    init(_ batch: EventBatch, _ answers: AnswerBudget) {
        start = batch.start
        end = batch.end
        eventCount = batch.eventCount
        hasTimes = batch.hasTimes
        isWhole = batch.isWhole || batch.isFull
        bytes = batch.isEmpty ? nil : StreamPiece(batch.bytes, answers)
    }
}

/// The pieces that watchers have got lately while they caught up, for others at the same places.
///
/// Clients that were cut off together resume at the same place, and follow the same: their events
/// are read and written once, not once for each. A piece with times to live is forgotten after a
/// short time, and a short one as soon as there is more after it.
struct WatchPieces {
    static let byteCountMax = 4 * 1024 * 1024
    static let countMax = 1024
    static let ageNanosecondsMax: UInt64 = 250_000_000

    private struct Key: Hashable {
        let filter: WatchFilter
        let start: WatchPlace
    }

    private var pieces: [Key: (piece: WatchPiece, born: UInt64)] = [:]
    private var byteCount = 0

    /// The piece after a place, as far as there are events; made only if it is not there.
    mutating func piece(
        _ filter: WatchFilter,
        at start: WatchPlace,
        through position: WatchPlace,
        _ now: UInt64,
        make: () -> WatchPiece?
    ) -> WatchPiece? {
        if let (piece, born) = pieces[Key(filter: filter, start: start)],
            piece.isWhole || piece.end >= position,
            !piece.hasTimes || now < born + Self.ageNanosecondsMax
        {
            return piece
        }
        guard let piece = make() else {
            return nil
        }
        add(piece, filter, now, at: start)
        return piece
    }

    /// Adds a piece, or replaces the one at its place.
    mutating func add(
        _ piece: WatchPiece,
        _ filter: WatchFilter,
        _ now: UInt64,
        at start: WatchPlace? = nil
    ) {
        let key = Key(filter: filter, start: start ?? piece.start)
        let count = piece.bytes?.count ?? 0
        if let former = pieces[key] {
            byteCount -= former.piece.bytes?.count ?? 0
        }
        if byteCount + count > Self.byteCountMax || pieces.count >= Self.countMax {
            removeAll()
        }
        pieces[key] = (piece, now)
        byteCount += count
    }

    mutating func removeAll() {
        pieces = [:]
        byteCount = 0
    }
}
