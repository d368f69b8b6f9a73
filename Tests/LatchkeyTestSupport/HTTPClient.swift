import Foundation

/// An HTTP/1.1 client for tests: it can send anything, valid or not, and reads answers one by one.
///
/// Not for use from several threads at once. Every read and write has a time limit, so that a
/// server that does not answer fails the test instead of hanging it.
public final class HTTPClient {
    private let connection: LoopbackConnection
    private var received: [UInt8] = []
    /// How many bytes of a chunk `readPiece` has left.
    private var chunkRest = 0

    /// Connects to a server on loopback, from 127.0.0.N, with this offer if the port speaks TLS.
    public init(port: UInt16, from number: UInt8 = 1, offer: TLSOffer = TLSOffer()) throws {
        connection = try LoopbackConnection(port: port, from: number, offer: offer)
    }

    /// The session of TLS; nil if the connection is plain.
    public var session: TLSSession? { connection.session }

    /// Closes the connection.
    public func close() { connection.close() }

    /// Closes with a reset instead of an orderly end.
    public func reset() { connection.reset() }

    /// Sends bytes as they are.
    public func send(_ bytes: some Sequence<UInt8>) throws {
        guard connection.send(bytes) else { throw HTTPClientError("send", errno) }
    }

    /// Sends the text as it stands.
    public func send(_ text: String) throws {
        try send(text.utf8)
    }

    /// Says that nothing more will be sent, and goes on reading.
    public func endSending() {
        connection.endSending()
    }

    /// Sends a request and reads its answer.
    public func request(
        _ method: String,
        _ target: String,
        headers: [String] = [],
        body: [UInt8]? = nil
    ) throws -> HTTPAnswer {
        try begin(method, target, headers: headers, body: body)
        return try answer(toHEAD: method == "HEAD")
    }

    /// Sends a request, and reads no answer.
    public func begin(
        _ method: String,
        _ target: String,
        headers: [String] = [],
        body: [UInt8]? = nil
    ) throws {
        let length = body.map { ["Content-Length: \($0.count)"] } ?? []
        let lines = ["\(method) \(target) HTTP/1.1", "Host: localhost"] + headers + length
        try send(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + (body ?? []))
    }

    /// Reads the next answer.
    public func answer(toHEAD isHEAD: Bool = false) throws -> HTTPAnswer {
        var answer = try head()
        guard !isHEAD, answer.status >= 200, answer.status != 204, answer.status != 304 else {
            return answer
        }
        if let length = answer.headers["content-length"].flatMap(Int.init) {
            answer.body = try read(length)
        } else if answer.headers["transfer-encoding"] == "chunked" {
            answer.body = try readChunks()
        } else {
            try awaitClose()
            answer.body = received
            received = []
        }
        return answer
    }

    /// Reads the head of the next answer.
    public func head() throws -> HTTPAnswer {
        let head = try readHead()
        var lines = head.split(separator: "\r\n", omittingEmptySubsequences: false)
        let words = lines.removeFirst().split(separator: " ", maxSplits: 2)
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
            throw HTTPClientError("not an answer: \(head)", 0)
        }
        var headers: [String: String] = [:]
        for line in lines {
            let sides = line.split(separator: ":", maxSplits: 1)
            guard sides.count == 2 else {
                throw HTTPClientError("not a header: \(line)", 0)
            }
            let name = sides[0].lowercased()
            let value = sides[1].trimmingCharacters(in: .whitespaces)
            headers[name] = headers[name].map { "\($0), \(value)" } ?? value
        }
        return HTTPAnswer(status: status, head: head, headers: headers)
    }

    /// Whether the server has closed the connection, with nothing more to read.
    public func isClosed() throws -> Bool {
        try received.isEmpty && !fill()
    }

    /// Reads until the server closes the connection, whatever it sends before.
    public func awaitClose() throws {
        while try fill() {}
    }

    private func readHead() throws -> String {
        let end: [UInt8] = Array("\r\n\r\n".utf8)
        while true {
            if let range = received.firstRange(of: end) {
                let head = String(decoding: received[..<range.lowerBound], as: UTF8.self)
                received.removeSubrange(..<range.upperBound)
                return head
            }
            guard try fill() else {
                throw HTTPClientError("closed after \(received.count) bytes of a head", 0)
            }
        }
    }

    /// Reads the next chunk of a body: empty for the last one.
    public func readChunk() throws -> [UInt8] {
        let line = String(decoding: try readLine(), as: UTF8.self)
        guard let count = Int(line, radix: 16) else {
            throw HTTPClientError("not the length of a chunk: \(line)", 0)
        }
        guard count > 0 else {
            // Trailers, which etcd's gateway sends.
            while try !readLine().isEmpty {}
            return []
        }
        let chunk = try read(count)
        guard try readLine().isEmpty else {
            throw HTTPClientError("no end of a chunk", 0)
        }
        return chunk
    }

    /// Reads the chunks of a body to its end.
    public func readChunks() throws -> [UInt8] {
        var body: [UInt8] = []
        while true {
            let chunk = try readChunk()
            guard !chunk.isEmpty else { return body }
            body += chunk
        }
    }

    /// Reads some bytes of a body in chunks, without waiting for the rest of their chunk.
    ///
    /// - Returns: nil at the end of the body, or of the connection.
    func readPiece(countMax: Int) throws -> [UInt8]? {
        while chunkRest == 0 {
            guard let line = try? readLine() else { return nil }
            // The line end after a chunk reads as an empty line.
            guard !line.isEmpty else { continue }
            chunkRest = Int(String(decoding: line, as: UTF8.self), radix: 16) ?? 0
            guard chunkRest > 0 else { return nil }
        }
        guard try !received.isEmpty || fill() else { return nil }
        let count = min(chunkRest, received.count, countMax)
        chunkRest -= count
        return try read(count)
    }

    private func readLine() throws -> [UInt8] {
        while true {
            if let end = received.firstRange(of: [0x0D, 0x0A]) {
                let line = Array(received[..<end.lowerBound])
                received.removeSubrange(..<end.upperBound)
                return line
            }
            guard try fill() else {
                throw HTTPClientError("closed inside a body", 0)
            }
        }
    }

    private func read(_ count: Int) throws -> [UInt8] {
        while received.count < count {
            guard try fill() else {
                throw HTTPClientError("closed inside a body", 0)
            }
        }
        defer { received.removeFirst(count) }
        return Array(received[..<count])
    }

    /// Waits for more bytes; false at the end.
    private func fill() throws -> Bool {
        guard let bytes = connection.receive() else {
            guard errno == ECONNRESET else {
                throw HTTPClientError("recv", errno)
            }
            return false
        }
        received += bytes
        return !bytes.isEmpty
    }
}

/// An answer as it was received.
public struct HTTPAnswer: Sendable {
    /// The status code.
    public let status: Int
    /// The status line and the header lines, as they were sent.
    public let head: String
    /// By lower-case name; several of one name are joined by commas.
    public let headers: [String: String]

    /// The body, unchunked.
    public internal(set) var body: [UInt8] = []

    /// No answer at all.
    public static let none = HTTPAnswer(status: 0, head: "", headers: [:])

    /// The body as text.
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// The body as text, without the identifier of the request that a problem has.
    public var said: String {
        text.replacing(/,"request":"[0-9a-z]{20}"/, with: "")
    }

    /// The body as a JSON value, if it is one.
    public var json: Any? {
        try? JSONSerialization.jsonObject(with: Data(body), options: .fragmentsAllowed)
    }

    /// The name of the problem that the answer is, if it is one.
    public var problem: String? {
        guard headers["content-type"] == "application/problem+json",
            let object = json as? [String: Any], let type = object["type"] as? String,
            object["status"] as? Int == status, object["title"] is String,
            object["detail"] is String, type.hasPrefix("/problems/")
        else {
            return nil
        }
        return String(type.dropFirst("/problems/".count))
    }
}

/// An error on the connection.
public struct HTTPClientError: Error, CustomStringConvertible {
    /// The error as a sentence.
    public let description: String

    init(_ call: String, _ number: Int32) {
        description = number == 0 ? call : unsafe "\(call): \(String(cString: strerror(number)))"
    }
}
