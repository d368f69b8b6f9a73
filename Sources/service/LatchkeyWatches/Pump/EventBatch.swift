internal import LatchkeyFrame
internal import LatchkeyStore

/// Events in a row that are sent in one piece, with the ids that make each of them resumable.
///
/// The last event of a revision has the revision as its id. An earlier one, of a transaction, has
/// the revision and the number of its effects up to this one.
struct EventBatch {
    /// The length at which a batch is sent, unless one event is longer.
    static let byteCountMax = 16 * 1024

    private(set) var bytes: [UInt8] = []
    private(set) var eventCount = 0
    /// Whether an event has a time to live, as of the time when it was written.
    private(set) var hasTimes = false
    /// The place before the first event.
    private(set) var start: WatchPlace
    /// The place after the last event, or after effects that were looked at without a match.
    private(set) var end: WatchPlace
    /// Whether it ends before the watcher is live because it is enough for one piece.
    private(set) var isWhole = false
    /// Whether the last event has no id yet.
    private var isOpen = false

    init(at place: WatchPlace) {
        start = place
        end = place
    }

    var isEmpty: Bool { bytes.isEmpty }

    var isFull: Bool { bytes.count >= Self.byteCountMax }

    /// Adds the event of the effect at this index of the commit after `previous`.
    mutating func add(
        _ event: [UInt8],
        _ index: Int,
        after previous: Revision,
        hasTime: Bool
    ) {
        hasTimes = hasTimes || hasTime
        if bytes.isEmpty {
            start = WatchPlace(revision: previous, effectCount: index)
        }
        close()
        bytes.append(contentsOf: event)
        eventCount += 1
        end = WatchPlace(revision: previous, effectCount: index + 1)
        isOpen = true
    }

    /// Notes that the commit of this revision has no further effect for the watcher.
    mutating func endCommit(_ revision: Revision) {
        end = WatchPlace(revision: revision)
        close()
    }

    /// Notes that the effects before this index of the commit after `previous` were looked at, and
    /// are enough for a piece.
    mutating func stop(before index: Int, after previous: Revision) {
        close()
        isWhole = true
        end = WatchPlace(revision: previous, effectCount: index)
    }

    /// Gives the last event the id of the place after it.
    mutating func close() {
        if isOpen {
            isOpen = false
            bytes += ServerSentEvents.end(id: end.text)
        }
    }

    /// Starts again after the last event.
    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        eventCount = 0
        hasTimes = false
        start = end
    }
}
