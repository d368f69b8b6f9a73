package import LatchkeyFrame
internal import LatchkeyGuards
package import LatchkeyHTTP
internal import LatchkeyStore
internal import LatchkeyStrategies

/// Reads of the journal: past values of a property, long polls, and the list of changes.
package struct HistoryRoutes: Sendable {
    private static let changesMax = 1000

    let watched: WatchedHistory
    let hub: WatchHub

    func add(to table: inout RouteTable) {
        table.add(
            .get,
            "/v1/changes",
            .read,
            needs: .token,
            statuses: [200, 400, 410, 503]
        ) { request, _ throws(RequestFailure) in
            try changes(request)
        }
    }

    /// Answers a `GET` of a property with a query: `?revision=` or `?after=`.
    ///
    /// - Returns: False, and nothing is done, if it has none of them.
    package func reads(
        _ request: ServiceRequest,
        _ match: RouteMatch
    ) throws(RequestFailure) -> Bool {
        let query = try request.query(["revision", "after", "wait"])
        guard !query.isEmpty else { return false }
        try read(request, match, query)
        return true
    }

    private func read(
        _ request: ServiceRequest,
        _ match: RouteMatch,
        _ query: [String: String]
    ) throws(RequestFailure) {
        let name = try request.name(match.capture, .read)
        let conditions = try request.conditions()
        if query["revision"] != nil {
            guard query.count == 1 else {
                throw RequestFailure(.invalidQuery, "Give revision alone.")
            }
            let revision = try Self.revision(query["revision"], "revision")
            let search = PastValue(name, asOf: watched.journal.named(revision))
            readPast(request, conditions, search)
            return
        }
        // A shorter poll than was asked for does no harm: its client asks again.
        let wait = min(try ServiceRequest.wait(query["wait"]), hub.readMillisecondsMax(request))
        let after = watched.journal.named(try Self.revision(query["after"], "after"))
        // No property of this store can have passed a revision of another one.
        guard (watched.journal.start...watched.usage.revision).contains(after) else {
            throw RequestFailure(.gone)
        }
        LongPoll(
            request: request,
            client: request.client,
            name: name,
            conditions: conditions,
            after: after,
            deadlineNanoseconds: request.deadlineNanoseconds(wait),
            watched: watched,
            hub: hub,
            id: hub.nextIdentifier(),
            visitor: WatchVisitor(request)
        ).begin()
    }

    private func readPast(
        _ request: ServiceRequest,
        _ conditions: Conditions,
        _ search: PastValue
    ) {
        do throws(BacklogFull) {
            try watched.base.look(search.name, in: .stored, .here()) { current in
                watched.whenCaughtUp(for: request.client) { latest in
                    goOn(request, conditions, search.from(current, latest: latest))
                }
            }
        } catch {
            request.fail(.backlogFull)
        }
    }

    private func goOn(
        _ request: ServiceRequest,
        _ conditions: Conditions,
        _ search: PastValue,
        _ presence: Presence? = nil
    ) {
        var search = search
        switch search.read(watched.journal) {
        case .found(let property): request.answer(property, conditions, isPast: true)
        case .gone: request.fail(.gone)
        case .more:
            later(request, presence) { [search] in goOn(request, conditions, search, $0) }
        }
    }

    /// Continues a long read, unless its client has gone by then.
    ///
    /// Most reads need one piece, and no such look.
    private func later(
        _ request: ServiceRequest,
        _ presence: Presence?,
        _ proceed: @escaping @Sendable (Presence) -> Void
    ) {
        let presence = presence ?? request.exchange.presence()
        watched.later(for: request.client) {
            presence.isOver ? request.answerInVain() : proceed(presence)
        }
    }

    private func changes(_ request: ServiceRequest) throws(RequestFailure) {
        let query = try request.query(["after", "limit", "prefix", "replica"])
        let isForReplica = try Query.flag(query["replica"], name: "replica", default: false)
        guard !isForReplica || query["prefix"] == nil else {
            throw RequestFailure(.invalidQuery, "Give prefix or replica, not both.")
        }
        let after = query["after"] == nil ? nil : try Self.revision(query["after"], "after")
        let limit = try ServiceRequest.limit(query["limit"], default: 100, max: Self.changesMax)
        let filter = WatchFilter.prefix(try request.prefix(query["prefix"], .read))
        watched.whenCaughtUp(for: request.client) { latest in
            let journal = watched.journal
            let place = after.map(journal.named) ?? journal.oldest(of: filter.beginnings)
            let page = ChangePage(
                after: place,
                latest: latest,
                limit: limit,
                isForReplica: isForReplica
            )
            goOn(request, page, filter)
        }
    }

    private func goOn(
        _ request: ServiceRequest,
        _ page: ChangePage,
        _ filter: WatchFilter,
        _ presence: Presence? = nil
    ) {
        var page = page
        switch page.read(watched.journal, filter) {
        case .done: request.respond(json: page.json)
        case .gone: request.fail(.gone)
        case .more: later(request, presence) { [page] in goOn(request, page, filter, $0) }
        }
    }

    static func revision(
        _ text: String?,
        _ name: String
    ) throws(RequestFailure) -> Revision {
        guard let text, let place = WatchPlace(text), !text.contains(".") else {
            throw RequestFailure(.invalidQuery, "\(name) must be a revision.")
        }
        return place.revision
    }
}
