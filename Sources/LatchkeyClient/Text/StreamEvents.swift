/// An event of a stream.
package struct StreamEvent: Sendable, Equatable {
    package let type: String
    package let data: [UInt8]
    /// The last id of the stream when the event came; empty before the first.
    package let id: String

    package init(type: String, data: [UInt8], id: String) {
        self.type = type
        self.data = data
        self.id = id
    }

    package var json: JSONValue? { JSONValue(data) }
}

/// A parser of server-sent events (WHATWG HTML, "Server-sent events"), with the line ends that the
/// service sends.
///
/// Bytes can come in pieces of any length.
package struct StreamEvents: Sendable {
    /// The id with which the stream goes on after a cut.
    package private(set) var lastID: String
    private var line: [UInt8] = []
    private var type = ""
    private var data: [[UInt8]] = []
    private var id: String?

    package init(lastID: String = "") {
        self.lastID = lastID
    }

    /// Forgets a part of an event: the stream was cut.
    package mutating func cut() {
        self = Self(lastID: lastID)
    }

    /// Takes more bytes, and returns the events that they complete.
    package mutating func feed(_ bytes: some Sequence<UInt8>) -> [StreamEvent] {
        var events: [StreamEvent] = []
        for byte in bytes {
            guard byte == UInt8(ascii: "\n") else {
                line.append(byte)
                continue
            }
            if let event = take(line[...]) { events.append(event) }
            line.removeAll(keepingCapacity: true)
        }
        return events
    }

    private mutating func take(_ line: ArraySlice<UInt8>) -> StreamEvent? {
        guard !line.isEmpty else { return dispatch() }
        let name = line.prefix { $0 != UInt8(ascii: ":") }
        var value = line.dropFirst(name.count + 1)
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        switch String(decoding: name, as: UTF8.self) {
        case "event": type = String(decoding: value, as: UTF8.self)
        case "data": data.append(Array(value))
        case "id": id = String(decoding: value, as: UTF8.self)
        // A comment has an empty name.
        default: break
        }
        return nil
    }

    private mutating func dispatch() -> StreamEvent? {
        defer { (type, data) = ("", []) }
        lastID = id ?? lastID
        guard !data.isEmpty else { return nil }
        return StreamEvent(
            type: type.isEmpty ? "message" : type,
            data: Array(data.joined(separator: [UInt8(ascii: "\n")])),
            id: lastID
        )
    }
}
