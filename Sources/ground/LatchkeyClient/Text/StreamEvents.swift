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

    private static let changes = ["put", "delete", "expire"]

    /// Whether its type is known; a later service can have others.
    var isKnown: Bool { Self.changes.contains(type) || ["gap", "ready"].contains(type) }

    /// Whether it has the members of its type, with a value or without.
    func isReadable(hasValue: Bool) -> Bool {
        guard let json else { return false }
        guard Self.changes.contains(type) else { return json["revision"]?.integer != nil }
        let isWhole = type != "put" || !hasValue || json["value"] != nil
        return json["name"]?.string != nil && isWhole
    }
}

/// A parser of server-sent events (WHATWG HTML, "Server-sent events").
///
/// Bytes can come in pieces of any length.
package struct StreamEvents: Sendable {
    /// The id with which the stream goes on after a cut.
    package private(set) var lastID: String
    /// How long the service asks to wait before the next connection; nil if it has not said it.
    package private(set) var retryMilliseconds: Int?
    private var line: [UInt8] = []
    /// Whether the last line ended with a carriage return: a line feed after it is no line.
    private var endsWithReturn = false
    private var isAtStart = true
    private var type = ""
    private var data: [[UInt8]] = []
    private var id: String?

    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    package init(lastID: String = "") {
        self.lastID = lastID
    }

    /// Forgets a part of an event: the stream was cut.
    package mutating func cut() {
        let retry = retryMilliseconds
        self = Self(lastID: lastID)
        retryMilliseconds = retry
    }

    /// Takes more bytes, and returns the events that they complete.
    package mutating func feed(_ bytes: some Sequence<UInt8>) -> [StreamEvent] {
        var events: [StreamEvent] = []
        for byte in bytes {
            defer { endsWithReturn = byte == UInt8(ascii: "\r") }
            switch byte {
            case UInt8(ascii: "\n") where endsWithReturn: break
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
                if let event = takeLine() { events.append(event) }
            default: line.append(byte)
            }
        }
        return events
    }

    private mutating func takeLine() -> StreamEvent? {
        defer {
            line.removeAll(keepingCapacity: true)
            isAtStart = false
        }
        let hasMark = isAtStart && line.starts(with: Self.byteOrderMark)
        return take(hasMark ? line.dropFirst(Self.byteOrderMark.count) : line[...])
    }

    private mutating func take(_ line: ArraySlice<UInt8>) -> StreamEvent? {
        guard !line.isEmpty else { return dispatch() }
        let name = line.prefix { $0 != UInt8(ascii: ":") }
        var value = line.dropFirst(name.count + 1)
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        let text = String(decoding: value, as: UTF8.self)
        switch String(decoding: name, as: UTF8.self) {
        case "event": type = text
        case "data": data.append(Array(value))
        case "id": if !value.contains(0) { id = text }
        case "retry":
            let isNumber = !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
            if isNumber, let number = Int(text) { retryMilliseconds = number }
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
