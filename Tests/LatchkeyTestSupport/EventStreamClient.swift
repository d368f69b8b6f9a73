/// A client of a stream of server-sent events: a request, and the events of its answer.
///
/// Not for use from several threads at once. Reading has a time limit.
public final class EventStreamClient {
    private let client: HTTPClient
    private var parser: EventStreamParser
    private var events: [EventStreamParser.Event] = []

    /// The status.
    public let status: Int
    /// The header fields, by lower-case name.
    public let headers: [String: String]

    /// Sends a request from 127.0.0.N, and reads the head of the answer.
    public init(
        port: UInt16,
        _ target: String,
        lastID: String? = nil,
        from number: UInt8 = 1,
        headers lines: [String] = []
    ) throws {
        client = try HTTPClient(port: port, from: number)
        parser = EventStreamParser(lastID: lastID ?? "")
        let cursor = lastID.map { ["Last-Event-ID: \($0)"] } ?? []
        try client.begin("GET", target, headers: lines + cursor)
        let head = try client.head()
        (status, headers) = (head.status, head.headers)
    }

    /// The id that the client would send when it connects again.
    public var lastID: String { parser.lastID }

    /// How many comments have come.
    public var commentCount: Int { parser.commentCount }

    /// The next event; nil at the end of the stream.
    public func next() throws -> EventStreamParser.Event? {
        while events.isEmpty {
            guard try read(countMax: .max) != nil else { return nil }
        }
        return events.removeFirst()
    }

    /// All events up to and with the first that meets the condition, or to the end.
    public func events(
        until isLast: (EventStreamParser.Event) -> Bool
    ) throws -> [EventStreamParser.Event] {
        var found: [EventStreamParser.Event] = []
        while let event = try next() {
            found.append(event)
            if isLast(event) { break }
        }
        return found
    }

    /// Reads at most this many bytes of the body, and returns the events that they complete.
    ///
    /// - Returns: nil at the end of the stream.
    @discardableResult
    public func read(countMax: Int) throws -> [EventStreamParser.Event]? {
        guard let piece = try client.readPiece(countMax: countMax) else { return nil }
        let complete = parser.feed(piece)
        events += complete
        return complete
    }

    /// Closes the connection.
    public func close() { client.close() }
}
