internal import LatchkeyHTTP
internal import LatchkeyStore

/// Events in a row as they are sent, however many watchers get them.
struct WatchPiece {
    let start: WatchPlace
    let end: WatchPlace
    let eventCount: Int
    /// Nil without events.
    let bytes: StreamPiece?

    init(_ batch: EventBatch, _ answers: AnswerBudget) {
        start = batch.start
        end = batch.end
        eventCount = batch.eventCount
        bytes = batch.isEmpty ? nil : StreamPiece(batch.bytes, answers)
    }
}

/// The pieces that watchers have got lately while they caught up, for others at the same places.
///
/// Clients that were cut off together resume at the same place, and follow the same: their events
/// are read and written once, not once for each. A piece is forgotten after a short time, because
/// its times to live are those of when it was made.
struct WatchPieces {
    static let byteCountMax = 4 * 1024 * 1024
    static let countMax = 1024
    static let ageNanosecondsMax: UInt64 = 250_000_000

    private struct Key: Hashable {
        let filter: WatchFilter
        let start: WatchPlace
    }

    private var pieces: [Key: WatchPiece] = [:]
    private var byteCount = 0
    private var bornNanoseconds: UInt64 = 0

    /// The piece behind a place, made only if it is not there.
    mutating func piece(
        _ filter: WatchFilter,
        at start: WatchPlace,
        _ now: UInt64,
        make: () -> WatchPiece?
    ) -> WatchPiece? {
        if now >= bornNanoseconds + Self.ageNanosecondsMax || pieces.count >= Self.countMax {
            removeAll()
        }
        let key = Key(filter: filter, start: start)
        if let piece = pieces[key] {
            return piece
        }
        guard let piece = make() else {
            return nil
        }
        if byteCount + (piece.bytes?.count ?? 0) > Self.byteCountMax {
            removeAll()
        }
        if pieces.isEmpty {
            bornNanoseconds = now
        }
        pieces[key] = piece
        byteCount += (piece.bytes?.count ?? 0)
        return piece
    }

    mutating func removeAll() {
        pieces = [:]
        byteCount = 0
    }
}
