internal import Dispatch
internal import LatchkeyFrame
internal import LatchkeyGuards
internal import LatchkeyHTTP
internal import LatchkeyStore

/// The route of exports: all properties of one revision, one line for each.
struct ExportRoutes: Sendable {
    private let store: ServedProperties
    private let journal: Journal
    private let exports: ExportQueue

    init(store: ServedProperties, journal: Journal, exports: ExportQueue) {
        self.store = store
        self.journal = journal
        self.exports = exports
    }

    func add(to table: inout RouteTable) {
        table.add(
            .get,
            "/v1/export",
            .read,
            needs: .right(.export),
            statuses: [200, 400, 410, 429, 503]
        ) { request, _ throws(RequestFailure) in
            try export(request)
        }
    }

    private func export(_ request: ServiceRequest) throws(RequestFailure) {
        let query = try request.query(["prefix", "revision", "replica"])
        let isForReplica = try Query.flag(query["replica"], name: "replica", default: false)
        guard !isForReplica || query["revision"] == nil else {
            throw RequestFailure(.invalidQuery, "Give revision or replica, not both.")
        }
        try request.checkAnswerRoom()
        let prefix = OwnedBytes(try request.prefix(query["prefix"], .read))
        let revision = try query["revision"].map { (text) throws(RequestFailure) in
            journal.named(try Self.revision(text))
        }
        let permit = try exports.enter(request.client)
        store.snapshot(.here()) { snapshot in
            guard let revision else {
                if !isForReplica, let lines = ExportLines.few(snapshot, prefix) {
                    return ExportQueue.answer(request, lines, snapshot.revision)
                }
                // A replica needs expired properties, too, until their removal is a commit.
                let walk =
                    isForReplica
                    ? StateWalk(snapshot, undoing: [], to: snapshot.revision, prefix: prefix)
                    : StateWalk(snapshot, prefix: prefix)
                exports.start(permit, walk, for: request, isForReplica: isForReplica)
                return
            }
            guard revision <= snapshot.revision else {
                request.fail(.gone)
                return
            }
            let presence = request.exchange.presence()
            // Snapshots do not wait for the journal.
            journal.whenReached(snapshot.revision) {
                let past = PastState(snapshot, of: revision, prefix)
                exports.queue.async { goOn(request, permit, past, presence) }
            }
        }
    }

    /// Reads a piece of the changes since a past revision, unless the client has gone.
    ///
    /// Other exports have their turns in between.
    private func goOn(
        _ request: ServiceRequest,
        _ permit: ExportQueue.Permit,
        _ past: PastState,
        _ presence: Presence
    ) {
        guard !presence.isOver else {
            request.answerInVain()
            return
        }
        switch past.read(journal) {
        case .whole(let walk): exports.start(permit, walk, for: request)
        case .gone: request.fail(.gone)
        case .more: exports.queue.async { goOn(request, permit, past, presence) }
        }
    }

    private static func revision(_ text: String) throws(RequestFailure) -> Revision {
        guard text.utf8.first != UInt8(ascii: "+"), let revision = Revision(text) else {
            throw RequestFailure(.invalidQuery, "revision must be a revision.")
        }
        return revision
    }
}

/// The queue that makes all exports, one piece after the other.
///
/// **Design.** One serial queue, which has a thread of its own while it is busy: exports never
/// block a thread that serves, and take one processor at most, however many there are.
final class ExportQueue: Sendable {
    let queue = DispatchQueue(label: "latchkey.exports")
    private let places: SharedPlaces

    init(places: SharedPlaces) {
        self.places = places
    }

    /// Makes a queue for `countMax` exports at the same time.
    convenience init(_ countMax: Int, in frame: ServiceFrame) {
        let places = frame.places(countMax, "exports")
        self.init(places: places)
        frame.bounds.add("max-exports", countMax) { places.count }
    }

    /// The right to make one export, which ends with the object.
    func enter(_ client: ClientKey) throws(RequestFailure) -> Permit {
        try places.enter(client, orFail: .tooManyExports, "exports")
        return Permit(places, client)
    }

    final class Permit: Sendable {
        private let places: SharedPlaces
        private let client: ClientKey

        fileprivate init(_ places: SharedPlaces, _ client: ClientKey) {
            self.places = places
            self.client = client
        }

        deinit {
            places.leave(client)
        }
    }

    /// Answers the request with the properties of a walk.
    func start(
        _ permit: Permit,
        _ walk: StateWalk,
        for request: ServiceRequest,
        isForReplica: Bool = false
    ) {
        let lines = ExportLines(walk, isForReplica: isForReplica)
        start(permit, lines, for: request) { answer in
            Self.add(walk.revision, to: &answer)
            request.addAge(to: &answer)
        }
    }

    /// Answers the request with the lines of few properties, which need no queue.
    static func answer(_ request: ServiceRequest, _ lines: [UInt8], _ revision: Revision) {
        request.respond(.ok, body: .bytes(lines), isKept: false) { Self.add(revision, to: &$0) }
    }

    private static func add(_ revision: Revision, to answer: inout ResponseFields) {
        answer.add("Content-Type", "application/x-ndjson")
        answer.add("Latchkey-Revision", revision)
    }

    /// Answers the request with the bytes of a source.
    func start(
        _ permit: Permit,
        _ source: some PieceSource,
        for request: ServiceRequest,
        fields: (inout ResponseFields) -> Void
    ) {
        let series = request.series
        let export = Export(source, permit, on: queue, sent: { series.recordSent($0) })
        export.start(request.respond(streaming: export.events, isWhole: true, fields: fields))
    }
}
