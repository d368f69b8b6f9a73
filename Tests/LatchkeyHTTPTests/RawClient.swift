import Glibc
import LatchkeyTestSupport

/// A client on a raw socket, which sends what a proper client never would.
///
/// Reading blocks for 5 seconds at most, and then looks like the end of the stream.
final class RawClient {
    struct Reply {
        var status = 0
        var head = ""
        var body = ""

        var closes: Bool { head.contains("\r\nConnection: close\r\n") }

        /// The value of the first field of this name, which must be spelled as it is sent.
        func field(_ name: String) -> String? {
            for line in head.split(separator: "\r\n") where line.hasPrefix("\(name): ") {
                return String(line.dropFirst(name.count + 2))
            }
            return nil
        }
    }

    private let connection: LoopbackConnection
    private var received: [UInt8] = []

    init(port: UInt16) throws {
        connection = try LoopbackConnection(port: port, timeoutSeconds: 5)
    }

    func close() { connection.close() }

    /// Closes with a reset instead of an orderly end.
    func reset() { connection.reset() }

    /// Ends our half of the stream.
    func end() { connection.endSending() }

    /// Sends all of it, or as much as the server takes before it closes.
    func send(_ text: String) { _ = connection.send(text.utf8) }

    /// Reads one answer, whose status is 0 if the server ends the stream instead.
    func read(headOnly: Bool = false) -> Reply {
        var reply = Reply()
        var headEnd: Int?
        while headEnd == nil {
            headEnd = received.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound
            if headEnd == nil && !receive() { return reply }
        }
        let head = received.prefix(headEnd ?? 0)
        reply.head = String(decoding: head, as: UTF8.self)
        received.removeFirst(head.count)
        reply.status = Int(reply.head.dropFirst(9).prefix(3)) ?? 0
        let length = headOnly ? 0 : Int(reply.field("Content-Length") ?? "") ?? 0
        while received.count < length && receive() {}
        let body = received.prefix(length)
        reply.body = String(decoding: body, as: UTF8.self)
        received.removeFirst(body.count)
        return reply
    }

    /// Reads the next chunk of a body: empty for the last one, nil if the server ends the stream.
    func readChunk() -> String? {
        let lineEnd = Array("\r\n".utf8)
        var sizeEnd: Range<Int>?
        while sizeEnd == nil {
            sizeEnd = received.firstRange(of: lineEnd)
            if sizeEnd == nil && !receive() { return nil }
        }
        guard let sizeEnd else { return nil }
        let digits = String(decoding: received[..<sizeEnd.lowerBound], as: UTF8.self)
        let size = Int(digits, radix: 16) ?? 0
        let whole = sizeEnd.upperBound + size + lineEnd.count
        while received.count < whole {
            if !receive() { return nil }
        }
        let chunk = received[sizeEnd.upperBound..<(whole - lineEnd.count)]
        received.removeFirst(whole)
        return String(decoding: chunk, as: UTF8.self)
    }

    /// Reads the chunks of a body to its end; nil if it is cut off.
    func readChunks() -> String? {
        var body = ""
        while let chunk = readChunk() {
            if chunk.isEmpty { return body }
            body += chunk
        }
        return nil
    }

    func ask(_ text: String) -> Reply {
        send(text)
        return read()
    }

    /// Whether the server ends the stream, or resets it, before it sends anything more.
    func seesEnd() -> Bool {
        received.isEmpty && !receive()
    }

    /// Whether the server ends the stream, whatever it sends before.
    func seesEndAtLast() -> Bool {
        while receive() {}
        return errno != EAGAIN
    }

    private func receive() -> Bool {
        guard let bytes = connection.receive() else { return false }
        if bytes.isEmpty { errno = 0 }
        received += bytes
        return !bytes.isEmpty
    }
}

/// A GET request for this target.
func get(_ target: String, _ fields: String = "") -> String {
    "GET \(target) HTTP/1.1\r\nHost: x\r\n\(fields)\r\n"
}

/// A PUT request with a length.
func put(_ target: String, _ body: String, _ fields: String = "") -> String {
    let length = "Content-Length: \(body.utf8.count)\r\n"
    return "PUT \(target) HTTP/1.1\r\nHost: x\r\n\(length)\(fields)\r\n\(body)"
}

/// A PUT request in chunks of one byte and of the rest.
func putChunked(_ target: String, _ body: String) -> String {
    let first = body.prefix(1)
    let rest = body.dropFirst()
    var text = "PUT \(target) HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    for chunk in [first, rest] where !chunk.isEmpty {
        text += "\(String(chunk.utf8.count, radix: 16))\r\n\(chunk)\r\n"
    }
    return text + "0\r\n\r\n"
}
