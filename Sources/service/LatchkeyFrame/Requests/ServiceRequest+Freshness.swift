package import LatchkeyHTTP

extension ServiceRequest {
    /// The parameters of all routes that read the store: they say how new the state must be.
    package static let freshnessNames = ["consistency", "min-revision"]

    /// Whether it is a read that says how new the state must be.
    ///
    /// When its handler runs, the state is new enough.
    var asksFreshness: Bool {
        series.isRead && Self.has(Self.freshnessNames, in: exchange.query)
    }

    /// Whether a query has one of some parameters, as far as a search without decoding can tell.
    ///
    /// A parameter whose name has an escape is not found.
    package static func has(_ names: [String], in query: Bytes) -> Bool {
        var start = 0
        while start < query.count {
            let rest = query.count - start
            for name in names where rest > name.utf8.count {
                let end = start + name.utf8.count
                if query[end] == UInt8(ascii: "="), query.range(start, end).elementsEqual(name.utf8)
                {
                    return true
                }
            }
            while start < query.count, query[start] != UInt8(ascii: "&") { start += 1 }
            start += 1
        }
        return false
    }
}
