import LatchkeyTestSupport

/// A client that sends what a proper client never would, and expects nothing of the answer.
///
/// Reading blocks for as long as `Patience` says. It does not throw: an answer that does not come
/// has the status 0.
final class RawClient {
    private let client: HTTPClient

    init(port: UInt16) throws {
        client = try HTTPClient(port: port)
    }

    func close() { client.close() }

    func reset() { client.reset() }

    func end() { client.endSending() }

    /// Sends all of it, or as much as the server takes before it closes.
    func send(_ text: String) { try? client.send(text) }

    func ask(_ text: String) -> HTTPAnswer {
        send(text)
        return read()
    }

    func read(headOnly: Bool = false) -> HTTPAnswer {
        (try? client.answer(toHEAD: headOnly)) ?? .none
    }

    /// Reads the chunks of a body to its end; nil if it is cut off.
    func readChunks() -> String? {
        (try? client.readChunks()).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Whether the server ends the stream, or resets it, before it sends anything more.
    func seesEnd() -> Bool { (try? client.isClosed()) == true }

    /// Whether the server ends the stream, whatever it sends before.
    func seesEndAtLast() -> Bool { (try? client.awaitClose()) != nil }
}

extension HTTPAnswer {
    var closes: Bool { field("Connection") == "close" }

    func field(_ name: String) -> String? { headers[name.lowercased()] }
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
