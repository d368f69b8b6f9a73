import Glibc

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

    enum Failure: Error {
        case refused(errno: Int32)
    }

    private let socket: Int32
    private var received: [UInt8] = []
    private var isOpen = true

    init(port: UInt16) throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var patience = timeval(tv_sec: 5, tv_usec: 0)
        let patienceSize = socklen_t(MemoryLayout<timeval>.size)
        unsafe setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, patienceSize)
        unsafe setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, patienceSize)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                unsafe connect(socket, generic, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Failure.refused(errno: errno) }
    }

    deinit {
        if isOpen {
            Glibc.close(socket)
        }
    }

    func close() {
        isOpen = false
        Glibc.close(socket)
    }

    /// Closes with a reset instead of an orderly end.
    func reset() {
        var now = linger(l_onoff: 1, l_linger: 0)
        unsafe setsockopt(
            socket,
            SOL_SOCKET,
            SO_LINGER,
            &now,
            socklen_t(MemoryLayout<linger>.size)
        )
        close()
    }

    /// Ends our half of the stream.
    func end() {
        shutdown(socket, Int32(SHUT_WR))
    }

    /// Sends all of it, or as much as the server takes before it closes.
    func send(_ text: String) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = unsafe bytes.withUnsafeBytes { memory in
                unsafe Glibc.send(
                    socket,
                    memory.baseAddress,
                    memory.count,
                    Int32(MSG_NOSIGNAL)
                )
            }
            guard count > 0 else { return }
            bytes = bytes.dropFirst(count)
        }
    }

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
        var buffer = [UInt8](repeating: 0, count: 65536)
        let count = unsafe buffer.withUnsafeMutableBytes { memory in
            unsafe recv(socket, memory.baseAddress, memory.count, 0)
        }
        guard count > 0 else {
            if count == 0 { errno = 0 }
            return false
        }
        received.append(contentsOf: buffer.prefix(count))
        return true
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
