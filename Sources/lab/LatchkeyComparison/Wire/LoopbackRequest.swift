internal import Glibc

/// One request to a service of this machine, over a socket of its own.
enum LoopbackRequest {
    /// The reason for a missing answer, in one sentence.
    struct Failure: Error {
        let message: String

        init(_ call: String) {
            message = unsafe "no answer: \(call): \(String(cString: strerror(errno)))"
        }

        init(message: String) {
            self.message = message
        }
    }

    /// Sends the request and returns the status and the body of the answer, which ends with the
    /// connection.
    ///
    /// Connecting, sending and receiving may block, for the given time each. A body is JSON.
    static func answer(
        port: UInt16,
        method: String,
        path: String,
        body: String,
        timeoutSeconds: Int
    ) throws(Failure) -> (status: Int, body: [UInt8]) {
        let socket = try connected(port, timeoutSeconds)
        let answer = try exchange(request(method, path, body), on: socket)
        let status = try status(of: answer)
        guard let end = answer.firstRange(of: Array("\r\n\r\n".utf8)) else {
            throw Failure(message: "the answer is not HTTP")
        }
        return (status, Array(answer[end.upperBound...]))
    }

    /// Far more than the report of any service.
    private static let answerByteCountMax = 1 << 24

    private static func request(_ method: String, _ path: String, _ body: String) -> String {
        let content =
            method == "GET"
            ? "" : "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n"
        return "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            + "\(content)\r\n\(body)"
    }

    private static func connected(_ port: UInt16, _ timeoutSeconds: Int) throws(Failure) -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else {
            throw Failure("socket")
        }
        var timeout = timeval(tv_sec: timeoutSeconds, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            guard unsafe setsockopt(descriptor, SOL_SOCKET, option, &timeout, size) == 0 else {
                close(descriptor)
                throw Failure("setsockopt")
            }
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        let result = unsafe withUnsafeBytes(of: &address) { bytes in
            unsafe connect(
                descriptor,
                bytes.assumingMemoryBound(to: sockaddr.self).baseAddress,
                socklen_t(bytes.count)
            )
        }
        guard result == 0 else {
            let failure = Failure("connect")
            close(descriptor)
            throw failure
        }
        return descriptor
    }

    /// Sends a request, reads the answer, and closes the connection.
    private static func exchange(
        _ request: String,
        on socket: Int32
    ) throws(Failure) -> [UInt8] {
        defer { close(socket) }
        guard unsafe send(socket, request, request.utf8.count, Int32(MSG_NOSIGNAL)) >= 0 else {
            throw Failure("send")
        }
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while answer.count < answerByteCountMax {
            let count = unsafe recv(socket, &buffer, buffer.count, 0)
            guard count >= 0 else {
                throw Failure("recv")
            }
            guard count > 0 else {
                break
            }
            answer.append(contentsOf: buffer[..<count])
        }
        return answer
    }

    private static func status(of answer: [UInt8]) throws(Failure) -> Int {
        let words = String(decoding: answer.prefix(64), as: UTF8.self).split(separator: " ")
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1].prefix(3))
        else {
            throw Failure(message: "the answer is not HTTP")
        }
        return status
    }
}
