internal import LatchkeyHTTP

/// The kinds of requests whose durations are counted apart.
///
/// There are few, because each one is a histogram. A quantile of one kind is useful: streams of
/// changes, and requests that move a whole store, are not among reads of a property. A request that
/// asks to wait (`wait`) counts with those of its kind that do not, with its wait.
enum RequestKind: Int, CaseIterable {
    /// Reads one property.
    case get
    /// Changes one property, or those of a prefix.
    case change
    /// Reads or counts properties of a prefix.
    case list
    case transaction
    /// Streams and pages of changes.
    case watch
    /// Moves many properties: exports, imports and backups.
    case transfer
    case operation
    /// Probes, metrics, pages, and requests that match no route.
    case other

    init(_ method: HTTPMethod, _ route: String) {
        let reads = method == .get || method == .head
        self =
            switch route {
            case "/v1/properties": reads ? .list : .change
            case "/v1/count", "/ofrep/v1/evaluate/flags": .list
            case "/v1/pop": .change
            case "/v1/transactions": .transaction
            case "/v1/watch", "/v1/changes", "/v1/operations/{id}/events": .watch
            case "/v1/export", "/v1/import", "/v1/backup": .transfer
            case "/v1/operations", "/v1/operations/{id}": .operation
            case "/ofrep/v1/evaluate/flags/{name}": .get
            case _ where route.hasPrefix("/v1/properties/{name}"): reads ? .get : .change
            case _: .other
            }
    }
}
