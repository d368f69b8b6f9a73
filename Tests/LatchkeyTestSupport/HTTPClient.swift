import Foundation

/// An HTTP/1.1 client for tests: it can send anything, valid or not, and reads answers one by one.
///
/// Not for use from several threads at once. Every read and write has a time limit, so that a
/// server that does not answer fails the test instead of hanging it.
public final class HTTPClient {
    private let connection: LoopbackConnection
    private var received: [UInt8] = []

    /// Connects to a server on loopback, from 127.0.0.N.
    public init(port: UInt16, from number: UInt8 = 1) throws {
        connection = try LoopbackConnection(port: port, from: number)
    }

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
        var head = "\(method) \(target) HTTP/1.1\r\nHost: localhost\r\n"
        for header in headers {
            head += header + "\r\n"
        }
        if let body {
            head += "Content-Length: \(body.count)\r\n"
        }
        try send(Array((head + "\r\n").utf8) + (body ?? []))
        return try answer(toHEAD: method == "HEAD")
    }

    /// Reads the next answer.
    public func answer(toHEAD isHEAD: Bool = false) throws -> HTTPAnswer {
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
        var body: [UInt8] = []
        if !isHEAD, status >= 200, status != 204, status != 304 {
            if let length = headers["content-length"].flatMap(Int.init) {
                body = try read(length)
            } else if headers["transfer-encoding"] == "chunked" {
                body = try readChunks()
            } else {
                try awaitClose()
                body = received
                received = []
            }
        }
        return HTTPAnswer(status: status, head: head, headers: headers, body: body)
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
    public let body: [UInt8]

    /// The body as text.
    public var text: String { String(decoding: body, as: UTF8.self) }

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

/// What went wrong on the connection.
public struct HTTPClientError: Error, CustomStringConvertible {
    /// The error as a sentence.
    public let description: String

    init(_ call: String, _ number: Int32) {
        description = number == 0 ? call : unsafe "\(call): \(String(cString: strerror(number)))"
    }
}
