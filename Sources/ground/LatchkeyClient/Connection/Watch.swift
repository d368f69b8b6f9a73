internal import LatchkeySettings

/// A watch that resumes at its place after its connection was cut.
package final class Watch {
    private let client: Client
    private let request: ClientRequest
    /// Whether the current state comes first.
    private let isInitial: Bool
    private let complain: (String) -> Void
    private var events = StreamEvents()
    /// The revision after which the wanted changes begin, before the first id is known.
    private var start: String?
    /// Whether the service has answered: then its name exists.
    private var hasAnswered = false
    /// Whether a part of the current state was given, and no id with which the stream goes on.
    private var hasPart = false

    private static let pauseNanosecondsMin: UInt64 = 100_000_000
    private static let pauseNanosecondsMax: UInt64 = 5_000_000_000
    /// The longest pause, even if the service asks for more.
    private static let retryMillisecondsMax = 60_000

    /// - Parameters:
    ///   - client: The client.
    ///   - request: With the parameters of the watch, but `after` and `initial`.
    ///   - after: A revision, or the id of an event; nil for now.
    ///   - isInitial: Whether the current state comes first.
    ///   - complain: Called with the reason why the service does not answer, once until it does.
    package init(
        _ client: Client,
        _ request: ClientRequest,
        after: String?,
        isInitial: Bool,
        complain: @escaping (String) -> Void
    ) {
        self.client = client
        self.request = request
        self.isInitial = isInitial
        self.complain = complain
        start = after
    }

    private enum End {
        case enough
        case cut(hasEvents: Bool)
        /// The service did not answer, or not now.
        case unanswered(ClientFailure)
    }

    /// Gives each event to `take`, until that returns false.
    ///
    /// A stream that is cut, or ends because the service stops, goes on with the last id, without
    /// end.
    package func run(
        _ take: (StreamEvent) throws(ClientFailure) -> Bool
    ) throws(ClientFailure) {
        var pause = Self.pauseNanosecondsMin
        var isSilent = false
        while true {
            var asked = events.retryMilliseconds ?? 0
            switch try next(take) {
            case .enough: return
            case .cut(let hasEvents):
                isSilent = false
                if hasEvents { pause = Self.pauseNanosecondsMin }
                asked = events.retryMilliseconds ?? 0
            case .unanswered(let failure):
                if !isSilent { complain("\(failure.message) Trying again.") }
                isSilent = true
                asked = max(asked, min(failure.retryAfter ?? 0, Self.retryMillisecondsMax) * 1000)
            }
            let nanoseconds = UInt64(min(asked, Self.retryMillisecondsMax)) * 1_000_000
            let transport = client.transport
            let end = transport.now + max(pause, nanoseconds)
            transport.pause(until: end, isCancelled: { false })
            pause = min(2 * pause, Self.pauseNanosecondsMax)
        }
    }

    private func next(
        _ take: (StreamEvent) throws(ClientFailure) -> Bool
    ) throws(ClientFailure) -> End {
        if !isInitial, start == nil, events.lastID.isEmpty {
            let answer: ClientAnswer
            let page = revisionPage
            do throws(ConnectionFailure) {
                answer = try client.transport.send(page, isCancelled: { false })
            } catch {
                return try end(error)
            }
            if let end = try end(answer, page) { return end }
            guard let revision = answer.json?["revision"]?.integer else {
                throw client.unreadable
            }
            start = "\(revision)"
        }
        return try stream(take)
    }

    /// Whether events of puts have values.
    private var hasValues: Bool {
        !request.query.contains { $0.name == "values" && $0.value == "false" }
    }

    private func stream(
        _ take: (StreamEvent) throws(ClientFailure) -> Bool
    ) throws(ClientFailure) -> End {
        let request = streamRequest
        events.cut()
        if hasPart, events.lastID.isEmpty {
            // The state comes from its beginning.
            hasPart = false
            let gap = StreamEvent(type: "gap", data: Array("{}".utf8), id: "")
            guard try take(gap) else { return .enough }
        }
        var problem: ClientFailure?
        var isEnough = false
        var hasEvents = false
        let answer: ClientAnswer
        do throws(ConnectionFailure) {
            answer = try unsafe follow(request) { bytes in
                do throws(ClientFailure) {
                    for event in unsafe events.feed(bytes) where event.isKnown {
                        guard event.isReadable(hasValue: hasValues) else {
                            throw client.unreadable
                        }
                        (hasEvents, hasPart) = (true, true)
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
            hasAnswered = hasAnswered || hasEvents
            return hasEvents ? .cut(hasEvents: true) : try end(error)
        }
        return try end(answer, request) ?? .cut(hasEvents: hasEvents)
    }

    private func follow(
        _ request: ClientRequest,
        _ take: (UnsafeRawBufferPointer) -> Bool
    ) throws(ConnectionFailure) -> ClientAnswer {
        try unsafe client.transport.stream(
            request,
            type: request.promise.type,
            isCancelled: { false },
            take: take
        )
    }

    private var streamRequest: ClientRequest {
        var request = request
        request.isStream = true
        request.headLimit = client.transport.timeLimit
        if !events.lastID.isEmpty {
            request.add(field: "Last-Event-ID: \(events.lastID)")
        } else if isInitial {
            request.add("initial", "true")
        } else {
            request.add("after", start)
        }
        return request
    }

    /// The end that an answer causes; nil for the promised one.
    private func end(
        _ answer: ClientAnswer,
        _ request: ClientRequest
    ) throws(ClientFailure) -> End? {
        let meaning = answer.meaning(request.promise)
        guard meaning != .promised else {
            hasAnswered = true
            return nil
        }
        let failure = client.failure(answer, meaning)
        guard AnswerMeaning.isPassing(answer, meaning) else { throw failure }
        return .unanswered(failure)
    }

    private func end(
        _ failure: ConnectionFailure
    ) throws(ClientFailure) -> End {
        let found = client.failure(failure)
        guard failure.isTransient || (failure.kind == .wrong && hasAnswered) else { throw found }
        return .unanswered(found)
    }

    /// A request for the revision of the store now.
    private var revisionPage: ClientRequest {
        var page = ClientRequest(.get, "/v1/properties")
        let scope = request.query.first { ["prefix", "name", "match"].contains($0.name) }
        // A pattern is watched with the right for what is before its star.
        let end = scope?.name == "match" ? scope?.value.firstIndex(of: "*") : nil
        page.add("prefix", scope.map { String($0.value[..<(end ?? $0.value.endIndex)]) })
        page.add("limit", "1")
        page.add("values", "false")
        return page
    }
}
