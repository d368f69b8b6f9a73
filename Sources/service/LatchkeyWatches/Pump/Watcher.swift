internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyStore

/// The output of a watcher's events: a stream of an answer.
protocol WatchOutput: Sendable {
    func write(_ bytes: [UInt8]) -> ResponseStream.WriteResult
    func write(_ piece: StreamPiece) -> ResponseStream.WriteResult
    /// Ends the stream after a last piece, which is taken even if the stream is full.
    func end(with bytes: [UInt8])
    func end()
    /// Asks for a call when the written bytes are sent; returns whether it will come.
    func awaitSent(_ mark: UInt32) -> Bool
    /// How many bytes were accepted and not yet handed over for sending.
    var unsentByteCount: Int { get }
}

extension ResponseStream: WatchOutput {}

/// The request of a new watcher.
struct WatchRequest: Sendable {
    enum Start: Sendable {
        /// The changes after a place, which the journal held a moment ago.
        case place(WatchPlace)
        /// The changes from now on.
        ///
        /// The stream begins with the revision as an id, so that a client that connects again
        /// before the first change loses nothing.
        case now(Revision)
        /// The current state, and the changes after it.
        case state(StoreSnapshot)
        /// The same, because the history that the client needs is lost.
        case gap(StoreSnapshot)
    }

    let filter: WatchFilter
    let start: Start
    /// The observer's id, separate for each token.
    var observer: [UInt8]?
    var caller = Caller.anybody
    /// The origin of the watch, for the list of watches.
    var visitor: WatchVisitor?
}

/// One watcher: its stream, and how far it has got.
///
/// A watcher is live while it stands in the ``WatchAudience``: it has got everything up to the
/// place of the pump. Otherwise ``place`` is its place. Only the pump uses it.
final class Watcher {
    let id: UInt64
    let filter: WatchFilter
    let observer: [UInt8]?
    let caller: Caller
    let visitor: WatchVisitor?
    let output: any WatchOutput
    /// The place after the last event that was sent, or after effects that were looked at without a
    /// match.
    var place: WatchPlace
    /// The place that the client has as the last id.
    var idPlace: WatchPlace
    /// The rest of the current state to send.
    var state: WatchState?
    /// The stream refused a piece, and has not yet said that it has room.
    var isFull = false
    /// The stream is ended; nothing is sent any more.
    var isOver = false
    /// The watcher's position in its group of the audience, while it is live.
    var index: Int?
    /// When the next keep-alive comment is due, as a tick of the timers.
    var keepAliveTick: Int64 = 0

    /// Whether the client may still read what it watches.
    var isAllowed: Bool { filter.isAllowed(to: caller) }

    init(_ id: UInt64, _ request: WatchRequest, _ output: any WatchOutput) {
        self.id = id
        self.output = output
        filter = request.filter
        observer = request.observer
        caller = request.caller
        visitor = request.visitor
        switch request.start {
        case .place(let start):
            place = start
        case .now(let revision):
            place = WatchPlace(revision: revision)
        case .state(let snapshot), .gap(let snapshot):
            place = WatchPlace(revision: snapshot.revision)
            state = WatchState(snapshot, request.filter)
        }
        idPlace = place
    }
}

/// The current state on its way to a watcher: a snapshot, and the last name that was sent.
struct WatchState {
    let snapshot: StoreSnapshot
    /// The rest of the filter, in the order of names.
    private var parts: ArraySlice<WatchFilter.Part>
    private let filter: WatchFilter
    private var last: OwnedBytes?

    /// How many names one piece looks at, of which few may fit a pattern.
    private static let visitedCountMax = 1024

    init(_ snapshot: StoreSnapshot, _ filter: WatchFilter) {
        self.snapshot = snapshot
        self.filter = filter
        parts = filter.parts[...]
    }

    /// Sends events in pieces until the stream takes no more, or this many are sent.
    ///
    /// - Returns: nil if everything was sent, else the result of the last write.
    mutating func send(
        to output: any WatchOutput,
        pieceCountMax: Int,
        at time: Timestamp,
        sent: (_ eventCount: Int, _ byteCount: Int) -> Void
    ) -> ResponseStream.WriteResult? {
        var left = parts
        var walk = walk(left)
        for _ in 0..<pieceCountMax {
            var (bytes, eventCount): ([UInt8], Int) = ([], 0)
            var property: Property?
            var visitedCount = 0
            while bytes.count < EventBatch.byteCountMax, visitedCount < Self.visitedCountMax,
                let part = left.first
            {
                // All names that begin with the wanted one follow it.
                guard let next = walk?.next(), unsafe part.matches(next.nameBytes) else {
                    left.removeFirst()
                    walk = self.walk(left)
                    continue
                }
                visitedCount += 1
                property = next
                guard unsafe filter.fits(next.nameBytes) else { continue }
                bytes += EventText.state(next, at: time, filter.form)
                eventCount += 1
            }
            guard let property else {
                return nil
            }
            if eventCount > 0 {
                let result = output.write(bytes)
                guard result == .accepted else { return result }
            }
            parts = left
            last = unsafe OwnedBytes(copying: property.nameBytes)
            sent(eventCount, bytes.count)
        }
        return .accepted
    }

    /// The rest of the first part.
    private func walk(_ parts: ArraySlice<WatchFilter.Part>) -> MergedWalk? {
        parts.first.map { snapshot.walk(prefix: OwnedBytes($0.prefix), after: last) }
    }
}
