package import LatchkeyHTTP
internal import LatchkeyJSON

/// The text of server-sent events (HTML standard, section 9.2).
package enum ServerSentEvents {
    /// How long clients wait before they connect again, in milliseconds.
    ///
    /// Drawn for each stream, so that clients that a restart has cut off do not come back in the
    /// same second.
    package static let retryMilliseconds = 1000...3000

    /// The first bytes of each stream.
    package static func start(retryMilliseconds: Int) -> [UInt8] {
        Array("retry: \(retryMilliseconds)\n".utf8)
    }

    /// A keep-alive comment.
    ///
    /// Without an empty line, because some clients take each empty line as the end of an event.
    package static let keepAlive = Array(": keep-alive\n".utf8)

    /// The last event of a stream that ends because the service stops.
    package static let close = event("close", data: Array("{}".utf8))

    /// An event, whole.
    ///
    /// - Parameters:
    ///   - name: The type of the event.
    ///   - id: The text that a client sends as `Last-Event-ID` when it connects again.
    ///   - data: A valid JSON text.
    /// - Returns: The bytes of the event.
    package static func event(_ name: String, id: String? = nil, data: [UInt8]) -> [UInt8] {
        var bytes = fields(name, id: id, data: data)
        bytes.append(UInt8(ascii: "\n"))
        return bytes
    }

    /// An event without the empty line that ends it.
    package static func fields(_ name: String, id: String? = nil, data: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        // A number has 20 digits at most; with the names of the fields, 64 bytes hold the rest.
        bytes.reserveCapacity(data.count + name.utf8.count + 64)
        bytes.append(contentsOf: "event: \(name)\n".utf8)
        if let id { bytes.append(contentsOf: "id: \(id)\n".utf8) }
        bytes.append(contentsOf: "data: ".utf8)
        unsafe data.withUnsafeBytes { unsafe JSONText.append(oneLine: $0, to: &bytes) }
        bytes.append(UInt8(ascii: "\n"))
        return bytes
    }

    /// The end of an event without an id; alone, it only moves the client's cursor.
    package static func end(id: String) -> [UInt8] {
        Array("id: \(id)\n\n".utf8)
    }
}

extension ServiceRequest {
    /// Answers with a stream of server-sent events.
    ///
    /// The caller writes ``ServerSentEvents/start(retryMilliseconds:)``.
    @discardableResult
    package func respond(
        events: ResponseStream.Events,
        bufferBytesMax: Int = ResponseStream.bufferBytesMax
    ) -> ResponseStream {
        respond(streaming: events, bufferBytesMax: bufferBytesMax) { answer in
            answer.add("Content-Type", "text/event-stream")
            // Keeps nginx from collecting the events.
            answer.add("X-Accel-Buffering", "no")
        }
    }
}
