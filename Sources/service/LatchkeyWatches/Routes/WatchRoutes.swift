internal import LatchkeyFrame
internal import LatchkeyGuards
internal import LatchkeyHTTP
internal import LatchkeySettings
internal import LatchkeyStore

/// The route of watches: a stream of server-sent events.
struct WatchRoutes: Sendable {
    private static let observerByteCountMax = 128
    private static let partCountMax = 16

    let watched: WatchedHistory
    let hub: WatchHub

    func add(to table: inout RouteTable) {
        table.add(
            .get,
            "/v1/watch",
            .read,
            needs: .token,
            statuses: [200, 400, 429, 503]
        ) { request, _ throws(RequestFailure) in
            try watch(request)
        }
    }

    private func watch(_ request: ServiceRequest) throws(RequestFailure) {
        var parts: [WatchFilter.Part] = []
        let query = try request.query(
            [
                "prefix", "name", "match", "kinds", "values", "previous", "after", "initial",
                "observer",
            ]
        ) { name, value in
            switch name {
            case "prefix": parts.append(.prefix(Array(value.utf8)))
            case "name": parts.append(.name(Array(value.utf8)))
            default: return false
            }
            return true
        }
        let pattern = try Self.pattern(query["match"])
        guard pattern == nil || parts.isEmpty else {
            throw RequestFailure(.invalidQuery, "Give match alone, without prefix and name.")
        }
        var filter = try Self.filter(request, pattern.map { [.prefix($0.prefix)] } ?? parts)
        filter.pattern = pattern
        filter.kinds = try Self.kinds(query["kinds"]) ?? filter.kinds
        filter.form.showsValue = try Query.flag(query["values"], name: "values", default: true)
        filter.form.showsPrevious = try Query.flag(
            query["previous"],
            name: "previous",
            default: false
        )
        let observer = try Self.observer(query["observer"])
            .map { request.caller.scoped(Array($0.utf8)) }
        let cursor = try Self.cursor(request, query)
        guard request.exchange.method != .head else {
            request.respond(events: ResponseStream.Events(draining: { _ in }), bufferBytesMax: 1)
            return
        }
        try request.checkAnswerRoom()
        let client = request.client
        let visitor = WatchVisitor(request)
        try hub.enter(client)
        let open = { @Sendable [hub, filter] (start: WatchRequest.Start) in
            let watch = WatchRequest(
                filter: filter,
                start: start,
                observer: observer,
                caller: request.caller,
                visitor: visitor
            )
            hub.open(watch, of: client) { events, bufferBytesMax in
                request.respond(events: events, bufferBytesMax: bufferBytesMax)
            }
        }
        // No client was shown a later revision: a cursor above it is from another store.
        let latest = watched.usage.revision
        let oldest = watched.journal.oldest(of: filter.beginnings)
        switch cursor {
        case .place(WatchPlace(revision: 0)) where watched.journal.start >= oldest:
            open(.place(WatchPlace(revision: watched.journal.start)))
        case .now:
            open(.now(latest))
        case .place(let place)
        where place.latest <= latest && place.revision >= oldest:
            open(.place(place))
        case .initial:
            watched.base.snapshot(.here()) { open(.state($0)) }
        case .place, .unknown:
            watched.base.snapshot(.here()) { open(.gap($0)) }
        }
    }

    private enum Cursor {
        case now
        case initial
        case place(WatchPlace)
        /// An id that no stream of this service has.
        ///
        /// It counts as lost history, because a browser could not go on after an error.
        case unknown
    }

    private static func cursor(
        _ request: ServiceRequest,
        _ query: [String: String]
    ) throws(RequestFailure) -> Cursor {
        let after = query["after"].flatMap { WatchPlace($0) }
        guard after != nil || query["after"] == nil else {
            throw RequestFailure(.invalidQuery, "after must be a revision or an event's id.")
        }
        let isInitial = try Query.flag(query["initial"], name: "initial", default: false)
        guard after == nil || !isInitial else {
            throw RequestFailure(.invalidQuery, "Give after or initial, not both.")
        }
        if let id = request.exchange.headers(named: "last-event-id"), !id.isEmpty {
            return WatchPlace(String(decoding: id, as: UTF8.self)).map { .place($0) } ?? .unknown
        }
        return after.map { .place($0) } ?? (isInitial ? .initial : .now)
    }

    private static func filter(
        _ request: ServiceRequest,
        _ parts: [WatchFilter.Part]
    ) throws(RequestFailure) -> WatchFilter {
        guard parts.count <= partCountMax else {
            throw RequestFailure(
                .invalidQuery,
                "prefix and name can be given at most \(partCountMax) times together."
            )
        }
        for case .name(let name) in parts {
            let owner = OwnedBytes(name)
            defer { withExtendedLifetime(owner) {} }
            do {
                try unsafe PropertyName.check(owner.bytes)
            } catch {
                throw RequestFailure(.invalidName, error.detail)
            }
        }
        for part in parts where part.prefix.count > PropertyName.byteCountMax {
            throw RequestFailure(
                .invalidQuery,
                "prefix must have at most \(PropertyName.byteCountMax) bytes."
            )
        }
        let filter = WatchFilter(parts.isEmpty ? [.prefix([])] : parts)
        for part in filter.parts {
            try request.require(.read, prefix: part.prefix)
        }
        return filter
    }

    private static func pattern(_ text: String?) throws(RequestFailure) -> NamePattern? {
        guard let text else { return nil }
        // A name has to match it, so it has the length and the characters of a name.
        _ = try ServiceRequest.name(text)
        guard let pattern = NamePattern(Array(text.utf8)) else {
            throw RequestFailure(
                .invalidQuery,
                "match needs a *, which stands for a part of a name without /, and has at most one "
                    + "between two slashes: jobs/*/state."
            )
        }
        return pattern
    }

    private static func kinds(_ text: String?) throws(RequestFailure) -> EffectKinds? {
        guard let text else { return nil }
        var kinds: EffectKinds = []
        for name in text.split(separator: ",", omittingEmptySubsequences: false).map(String.init) {
            guard let kind = EffectKind(rawValue: name) else {
                let names = EffectKind.allCases.map(\.rawValue)
                let correction = Suggestion.correction(of: name, among: names, "This kind")
                throw RequestFailure(.invalidQuery, "kinds: \(correction)")
            }
            kinds.insert(EffectKinds(kind))
        }
        return kinds
    }

    private static func observer(_ text: String?) throws(RequestFailure) -> String? {
        guard let text else {
            return nil
        }
        guard (1...observerByteCountMax).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw RequestFailure(
                .invalidQuery,
                "observer must have 1 to \(observerByteCountMax) visible ASCII characters."
            )
        }
        return text
    }
}
