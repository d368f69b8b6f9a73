internal import Glibc

/// A watch that goes on where it was after its connection was cut.
package final class Watch {
    private let client: Client
    private let request: ClientRequest
    /// Whether the current state comes first.
    private let isInitial: Bool
    private var events = StreamEvents()
    /// The revision after which the changes begin that are wanted, before the first id is known.
    private var start: String?

    private static let pauseSecondsMin = 0.1
    private static let pauseSecondsMax = 5.0
    /// A service that asks for more is asked again all the same.
    private static let retryAfterMax = 60

    /// - Parameters:
    ///   - client: The client.
    ///   - request: With the parameters of the watch, but `after` and `initial`.
    ///   - after: A revision, or the id of an event; nil for now.
    ///   - isInitial: Whether the current state comes first.
    package init(_ client: Client, _ request: ClientRequest, after: String?, isInitial: Bool) {
        self.client = client
        self.request = request
        self.isInitial = isInitial
        start = after
    }

    /// Gives each event to `take`, until that says that it wants no more.
    ///
    /// A stream that is cut, or ends because the service stops, goes on with the last id.
    package func run(
        _ take: (StreamEvent) throws(ClientFailure) -> Bool
    ) throws(ClientFailure) {
        if !isInitial, start == nil { start = try revision() }
        var pause = Self.pauseSecondsMin
        while true {
            switch try stream(take) {
            case .enough: return
            case .cut(let hasEvents):
                if hasEvents { pause = Self.pauseSecondsMin }
            case .failed(let failure):
                // The first answer tells a service that is gone for a while from a wrong address.
                guard hasAnswered else { throw failure }
                pause = max(pause, Double(min(failure.retryAfter ?? 0, Self.retryAfterMax)))
            }
            usleep(UInt32(pause * 1e6))
            pause = min(2 * pause, Self.pauseSecondsMax)
        }
    }

    /// Whether the service has answered anything.
    private var hasAnswered = false

    private enum End {
        case enough
        case cut(hasEvents: Bool)
        case failed(ClientFailure)
    }

    private func stream(
        _ take: (StreamEvent) throws(ClientFailure) -> Bool
    ) throws(ClientFailure) -> End {
        var request = request
        request.isStream = true
        if !events.lastID.isEmpty {
            request.add(field: "Last-Event-ID: \(events.lastID)")
        } else if isInitial {
            request.add("initial", "true")
        } else {
            request.add("after", start)
        }
        events.cut()
        var problem: ClientFailure?
        var isEnough = false
        var hasEvents = false
        let answer: ClientAnswer
        do throws(ConnectionFailure) {
            answer = try unsafe client.connection.stream(request) { bytes in
                do throws(ClientFailure) {
                    for event in unsafe events.feed(bytes) where event.type != "close" {
                        hasEvents = true
                        isEnough = try !take(event)
                        if isEnough { return false }
                    }
                } catch {
                    problem = error
                    return false
                }
                return true
            }
        } catch {
            if let problem { throw problem }
            if isEnough { return .enough }
            guard error.isTransient else { throw client.failure(error) }
            hasAnswered = hasAnswered || hasEvents
            return error.kind == .unconnected || !hasAnswered
                ? .failed(client.failure(error)) : .cut(hasEvents: hasEvents)
        }
        guard answer.isSuccess else {
            let failure = client.failure(answer)
            guard answer.isTransient else { throw failure }
            return .failed(failure)
        }
        hasAnswered = true
        return .cut(hasEvents: hasEvents)
    }

    /// The revision of the store now.
    private func revision() throws(ClientFailure) -> String? {
        var page = ClientRequest(.get, "/v1/properties")
        let scope = request.query.first { ["prefix", "name"].contains($0.name) }
        page.add("prefix", scope?.value)
        page.add("limit", "1")
        page.add("values", "false")
        let answer = try client.send(page)
        hasAnswered = true
        return answer.json?["revision"]?.text
    }
}
