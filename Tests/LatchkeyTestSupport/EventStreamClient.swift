import Foundation

/// A client of a stream of server-sent events: a request, and the events of its answer.
///
/// Not for use from several threads at once. Reading has a time limit.
public final class EventStreamClient {
    private let connection: LoopbackConnection
    private var parser: EventStreamParser
    private var events: [EventStreamParser.Event] = []
    private var received: [UInt8] = []
    /// The bytes of the body are a chunk's until this many are read.
    private var chunkCount = 0
    private var isEnded = false

    /// The status and the header fields, by lower-case name.
    public private(set) var status = 0
    /// The header fields, by lower-case name.
    public private(set) var headers: [String: String] = [:]

    /// Sends a request from 127.0.0.N, and reads the head of the answer.
    public init(
        port: UInt16,
        _ target: String,
        lastID: String? = nil,
        from number: UInt8 = 1,
        headers lines: [String] = []
    ) throws {
        connection = try LoopbackConnection(port: port, from: number)
        parser = EventStreamParser(lastID: lastID ?? "")
        var head = "GET \(target) HTTP/1.1\r\nHost: localhost\r\n"
        head += lines.map { "\($0)\r\n" }.joined()
        if let lastID {
            head += "Last-Event-ID: \(lastID)\r\n"
        }
        guard connection.send((head + "\r\n").utf8) else { throw HTTPClientError("send", errno) }
        try readHead()
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

    /// Reads at most so many bytes of the body, and returns the events that they complete.
    ///
    /// - Returns: nil at the end of the stream.
    @discardableResult
    public func read(countMax: Int) throws -> [EventStreamParser.Event]? {
        while !isEnded {
            if let piece = takePiece(countMax) {
                let complete = parser.feed(piece)
                events += complete
                return complete
            }
            guard !isEnded, try fill() else { break }
        }
        isEnded = true
        return nil
    }

    /// Closes the connection.
    public func close() {
        connection.close()
    }

    /// Bytes of the body; nil if there are none yet, or none at all any more.
    private func takePiece(_ countMax: Int) -> [UInt8]? {
        while chunkCount == 0 {
            guard let end = received.firstRange(of: Array("\r\n".utf8)) else { return nil }
            let size = String(decoding: received[..<end.lowerBound], as: UTF8.self)
            received.removeFirst(end.upperBound)
            // The line end behind a chunk reads as an empty line.
            guard !size.isEmpty else { continue }
            chunkCount = Int(size, radix: 16) ?? 0
            guard chunkCount > 0 else {
                isEnded = true
                return nil
            }
        }
        guard !received.isEmpty else { return nil }
        let count = min(chunkCount, received.count, countMax)
        defer {
            received.removeFirst(count)
            chunkCount -= count
        }
        return Array(received[..<count])
    }

    private func fill() throws -> Bool {
        guard let bytes = connection.receive() else {
            guard errno == ECONNRESET else { throw HTTPClientError("recv", errno) }
            return false
        }
        received += bytes
        return !bytes.isEmpty
    }

    private func readHead() throws {
        let end = Array("\r\n\r\n".utf8)
        while received.firstRange(of: end) == nil {
            guard try fill() else { throw HTTPClientError("closed inside a head", 0) }
        }
        guard let range = received.firstRange(of: end) else { return }
        let lines = String(decoding: received[..<range.lowerBound], as: UTF8.self)
            .split(separator: "\r\n")
        received.removeFirst(range.upperBound)
        status = lines.first.flatMap { Int($0.split(separator: " ")[1]) } ?? 0
        for line in lines.dropFirst() {
            let sides = line.split(separator: ":", maxSplits: 1)
            headers[sides[0].lowercased()] = sides[1].trimmingCharacters(in: .whitespaces)
        }
    }
}
