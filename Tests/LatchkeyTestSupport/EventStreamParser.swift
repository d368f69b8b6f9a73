/// A parser of server-sent events, as a browser has it (WHATWG HTML, "Server-sent events").
///
/// Bytes can come in pieces of any length.
public struct EventStreamParser: Sendable {
    /// An event that was dispatched.
    public struct Event: Hashable, Sendable {
        /// The event's type.
        public let type: String
        /// The lines of its data.
        public let data: String
        /// The last id of the stream when it was dispatched.
        public let id: String

        /// An event of these parts.
        public init(type: String, data: String, id: String) {
            self.type = type
            self.data = data
            self.id = id
        }
    }

    /// The id that a client would send when it connects again.
    public private(set) var lastID = ""
    /// How many comments there were.
    public private(set) var commentCount = 0
    private var line: [UInt8] = []
    private var type = ""
    private var data: [String] = []
    private var id: String?

    /// Starts a stream of a client that knows this id.
    public init(lastID: String = "") {
        self.lastID = lastID
    }

    /// Takes more bytes, and returns the events that they complete.
    public mutating func feed(_ bytes: some Sequence<UInt8>) -> [Event] {
        var events: [Event] = []
        for byte in bytes {
            guard byte == UInt8(ascii: "\n") else {
                line.append(byte)
                continue
            }
            if let event = take(String(decoding: line, as: UTF8.self)) {
                events.append(event)
            }
            line = []
        }
        return events
    }

    private mutating func take(_ line: String) -> Event? {
        guard !line.isEmpty else {
            return dispatch()
        }
        guard !line.hasPrefix(":") else {
            commentCount += 1
            return nil
        }
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        var value = parts.count > 1 ? parts[1] : ""
        if value.first == " " {
            value = value.dropFirst()
        }
        switch parts[0] {
        case "event": type = String(value)
        case "data": data.append(String(value))
        case "id": id = String(value)
        default: break
        }
        return nil
    }

    private mutating func dispatch() -> Event? {
        defer {
            type = ""
            data = []
        }
        lastID = id ?? lastID
        guard !data.isEmpty else {
            return nil
        }
        let name = type.isEmpty ? "message" : type
        return Event(type: name, data: data.joined(separator: "\n"), id: lastID)
    }
}
