internal import CLatchkeySystem
internal import LatchkeyHTTP
internal import LatchkeyStore
internal import LatchkeyStrategies

/// Reads of the journal: past values of a property, long polls, and the list of changes.
struct HistoryRoutes: Sendable {
    private static let waitMillisecondsMax: TimeToLive = 60_000
    private static let changesMax = 1000

    let store: WatchedStore
    let hub: WatchHub

    func add(to table: inout RouteTable) {
        table.add(.get, "/v1/changes", statuses: [200, 400, 410]) {
            request,
            _ throws(RequestFailure) in
            try changes(request)
        }
    }

    /// Answers a `GET` of a property with a query: `?revision=` or `?after=`.
    func read(_ request: ServiceRequest, _ match: RouteMatch) throws(RequestFailure) {
        let query = try request.query(["revision", "after", "wait"])
        let name = try request.name(match.capture)
        let conditions = try request.conditions()
        if query["revision"] != nil {
            guard query.count == 1 else {
                throw RequestFailure(.invalidQuery, "Give revision alone.")
            }
            let revision = try Self.revision(query["revision"], "revision")
            readPast(request, name, conditions, revision)
            return
        }
        let wait = try Self.wait(query["wait"])
        // The server must not take the request away before the time is up.
        request.exchange.awaitAnswer(for: .milliseconds(wait) + .seconds(30))
        // Up to a sixteenth earlier, so that many polls do not end at once, as Consul does it.
        let nanoseconds = UInt64(wait - .random(in: 0...wait / 16)) * 1_000_000
        LongPoll(
            request: request,
            client: request.exchange.client,
            name: name,
            conditions: conditions,
            after: try Self.revision(query["after"], "after"),
            deadlineNanoseconds: latchkey_system_nanoseconds() + nanoseconds,
            store: store,
            hub: hub,
            id: hub.nextIdentifier()
        ).begin()
    }

    private func readPast(
        _ request: ServiceRequest,
        _ name: PropertyName,
        _ conditions: Conditions,
        _ revision: Revision
    ) {
        do throws(BacklogFull) {
            try store.look(name) { current in
                store.whenCaughtUp { latest in
                    switch store.journal.property(name, current, asOf: revision, latest: latest) {
                    case .success(let property): request.answer(property, conditions)
                    case .failure: request.fail(.gone)
                    }
                }
            }
        } catch {
            request.fail(.backlogFull)
        }
    }

    private func changes(_ request: ServiceRequest) throws(RequestFailure) {
        let query = try request.query(["after", "limit", "prefix"])
        let after = query["after"] == nil ? nil : try Self.revision(query["after"], "after")
        let limit = try ServiceRequest.limit(query["limit"], default: 100, max: Self.changesMax)
        let filter = WatchFilter.prefix(try ServiceRequest.prefix(query["prefix"]))
        store.whenCaughtUp { latest in
            let journal = store.journal
            var page = ChangePage(after: after ?? journal.oldest, latest: latest, limit: limit)
            if page.read(journal, filter) {
                request.respond(json: page.json)
            } else {
                request.fail(.gone)
            }
        }
    }

    private static func revision(
        _ text: String?,
        _ name: String
    ) throws(RequestFailure) -> Revision {
        guard let text, let place = WatchPlace(text), !text.contains(".") else {
            throw RequestFailure(.invalidQuery, "\(name) must be a revision.")
        }
        return place.revision
    }

    /// Milliseconds.
    private static func wait(_ text: String?) throws(RequestFailure) -> TimeToLive {
        guard let text, text != "0" else {
            return 0
        }
        guard let wait = SecondsText.milliseconds(text, in: 1...waitMillisecondsMax) else {
            throw RequestFailure(.invalidQuery, "wait must be a number of seconds from 0 to 60.")
        }
        return wait
    }
}

/// The journal does not hold the revision.
struct RevisionGone: Error {}

extension Journal {
    /// How many commits are read at once.
    private static let chunkCount = 256

    /// The property as of a revision.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - current: The property as it was found before `latest` was read.
    ///   - revision: The revision.
    ///   - latest: A revision that the journal has reached.
    /// - Returns: The property; nil if it did not exist.
    func property(
        _ name: PropertyName,
        _ current: Property?,
        asOf revision: Revision,
        latest: Revision
    ) -> Result<Property?, RevisionGone> {
        guard revision <= latest, revision >= oldest else {
            return .failure(RevisionGone())
        }
        if let current, current.revision <= revision {
            return .success(current)
        }
        var place = revision
        while place < latest {
            let count = min(Int(latest - place), Self.chunkCount)
            guard case .commits(let commits) = commits(after: place, countMax: count),
                let last = commits.last
            else {
                return .failure(RevisionGone())
            }
            for commit in commits {
                let effect = commit.effects.first { unsafe $0.nameBytes.elementsEqual(name.bytes) }
                if let effect {
                    return .success(effect.former)
                }
            }
            place = last.revision
        }
        return .success(current)
    }
}
