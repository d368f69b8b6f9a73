internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyStore

/// The freshness that a request asks of the state.
struct Freshness: Sendable, Equatable {
    /// The parameters that ask for it, on all routes that read the store.
    static let names = ServiceRequest.freshnessNames

    /// The parameters that name a revision which the client was shown, maybe by another replica.
    private static let cursors = ["after", "revision"]

    private static let waitMilliseconds: TimeToLive = 5000

    /// Whether the state must have everything that was acknowledged anywhere before the request.
    var isLinearizable = false
    /// The state must have all changes up to this revision.
    var revision: Revision = 0
    /// How long the request waits for that, in milliseconds.
    var wait = Self.waitMilliseconds

    /// Whether a query has one of the parameters, as far as can be seen without reading it.
    ///
    /// A parameter whose name has an escape is not seen. It is then refused as unknown.
    static func isAsked(in query: Bytes) -> Bool {
        ServiceRequest.has(names, in: query)
    }

    /// Whether a request goes on after a revision that the state has not reached.
    ///
    /// The name in a list's cursor can look like a revision: such a list waits, and is right all
    /// the same.
    static func isAhead(_ request: ServiceRequest, of last: Revision) -> Bool {
        if let id = request.exchange.headers(named: "last-event-id"),
            let place = WatchPlace(String(decoding: id, as: UTF8.self))
        {
            return place.latest > last
        }
        guard ServiceRequest.has(cursors, in: request.exchange.query),
            let query = try? request.parameters()
        else { return false }
        return query.parameters.contains { parameter in
            cursors.contains(parameter.name)
                && WatchPlace(parameter.value).map { $0.latest > last } == true
        }
    }

    init() {}

    init(_ query: Query) throws(RequestFailure) {
        var values: [String: String] = [:]
        for parameter in query.parameters
        where Self.names.contains(parameter.name) || parameter.name == "wait" {
            guard values.updateValue(parameter.value, forKey: parameter.name) == nil else {
                throw RequestFailure(.invalidQuery, "\(parameter.name) is given twice.")
            }
        }
        switch values["consistency"] {
        case nil, "local": break
        case "linearizable": isLinearizable = true
        default:
            throw RequestFailure(.invalidQuery, "consistency must be local or linearizable.")
        }
        if let text = values["min-revision"] {
            revision = try HistoryRoutes.revision(text, "min-revision")
            // The wait would never end.
            guard revision <= InputCheck.revisionMax else {
                throw RequestFailure(.invalidQuery, "No store can reach this min-revision.")
            }
        }
        wait = max(wait, try ServiceRequest.wait(values["wait"]))
    }
}
