internal import LatchkeyHTTP

/// The text of server-sent events (HTML standard, section 9.2), piece by piece.
struct ServerSentEvents {
    /// How long a client waits before it connects again, in milliseconds.
    static let retryMilliseconds = 1000

    private(set) var bytes: [UInt8] = []

    /// Says how long a client waits before it connects again.
    mutating func retry() {
        add("retry: \(Self.retryMilliseconds)\n\n")
    }

    /// Adds a comment, which clients ignore.
    mutating func comment() {
        add(":\n\n")
    }

    /// Adds an event.
    ///
    /// - Parameters:
    ///   - name: The type of the event; nil if there is only an identifier.
    ///   - id: What a client sends as `Last-Event-ID` when it connects again.
    ///   - data: A valid JSON text. Line breaks are white space there, and become spaces.
    mutating func event(_ name: StaticString?, id: String? = nil, data: [UInt8]? = nil) {
        if let name { add("event: \(name)\n") }
        if let id { add("id: \(id)\n") }
        if let data {
            add("data: ")
            bytes.append(contentsOf: data.lazy.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 })
            add("\n")
        }
        add("\n")
    }

    private mutating func add(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }

    /// The last event of a stream that ends because the service stops.
    static var close: [UInt8] {
        var last = Self()
        last.event("close", data: Array("{}".utf8))
        return last.bytes
    }
}

extension ServiceRequest {
    /// Answers with a stream of events, which begins with the time to wait before the next one.
    func respond(events: ResponseStream.Events) -> ResponseStream {
        series.record(
            .ok,
            startedNanoseconds: exchange.startedNanoseconds,
            receivedByteCount: 0,
            sentByteCount: 0
        )
        let stream = exchange.respond(.ok, streaming: events) { answer in
            answer.add("Content-Type", "text/event-stream")
            answer.mustBeRevalidated()
            // Keeps nginx from collecting the events.
            answer.add("X-Accel-Buffering", "no")
        }
        var start = ServerSentEvents()
        start.retry()
        _ = stream.write(start.bytes)
        return stream
    }
}
