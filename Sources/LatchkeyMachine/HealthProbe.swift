internal import Glibc

/// One request over a plain socket, for commands that need no other program.
package enum HealthProbe {
    /// The reason for a missing answer, in one sentence.
    package struct Failure: Error {
        package let message: String

        init(_ call: String) {
            message = unsafe "no answer: \(call): \(String(cString: strerror(errno)))"
        }

        init(message: String) {
            self.message = message
        }
    }

    /// Sends the request and returns the status of the answer.
    ///
    /// Connecting, sending and receiving may each block for the given time.
    package static func run(
        host: String,
        port: UInt16,
        path: String,
        timeoutSeconds: Int
    ) -> Result<Int, Failure> {
        Result { () throws(Failure) in
            let socket = try connected(reachable(host), port, timeoutSeconds, isNumeric: true)
            let request = request(host, "GET", path)
            return try status(of: exchange(request, on: socket, byteCount: statusByteCount))
        }
    }

    /// Sends the request and returns the status and the body of the answer, which ends with the
    /// connection.
    ///
    /// The host can be a name. Resolving it may block, and so may connecting, sending and
    /// receiving, for the given time each. A body is JSON. A token that is given is sent.
    package static func answer(
        host: String,
        port: UInt16,
        method: String = "GET",
        path: String,
        body: String = "",
        token: String = "",
        timeoutSeconds: Int
    ) -> Result<(status: Int, body: [UInt8]), Failure> {
        Result { () throws(Failure) in
            let socket = try connected(host, port, timeoutSeconds, isNumeric: false)
            let request = request(host, method, path, body, token: token)
            let answer = try exchange(request, on: socket, byteCount: answerByteCountMax)
            let status = try status(of: answer)
            guard let end = answer.firstRange(of: Array("\r\n\r\n".utf8)) else {
                throw Failure(message: "the answer is not HTTP")
            }
            return (status, Array(answer[end.upperBound...]))
        }
    }

    /// "HTTP/1.1 200".
    private static let statusByteCount = 12
    /// Far more than the metrics of any service.
    private static let answerByteCountMax = 1 << 24

    private static func request(
        _ host: String,
        _ method: String,
        _ path: String,
        _ body: String = "",
        token: String = ""
    ) -> String {
        let name = host.contains(":") ? "[\(host)]" : host
        let content =
            method == "GET"
            ? "" : "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n"
        let authorization = token.isEmpty ? "" : "Authorization: Bearer \(token)\r\n"
        return "\(method) \(path) HTTP/1.1\r\nHost: \(name)\r\nConnection: close\r\n"
            + "\(authorization)\(content)\r\n\(body)"
    }

    /// The address at which a service that listens on `host` is reached from its own machine.
    private static func reachable(_ host: String) -> String {
        switch host {
        case "0.0.0.0", "localhost": "127.0.0.1"
        case "::": "::1"
        default: host
        }
    }

    private static func connected(
        _ host: String,
        _ port: UInt16,
        _ timeoutSeconds: Int,
        isNumeric: Bool
    ) throws(Failure) -> Int32 {
        var hints = unsafe addrinfo()
        unsafe hints.ai_flags = isNumeric ? AI_NUMERICHOST : 0
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(host, "\(port)", &hints, &found) == 0,
            let address = unsafe found
        else {
            throw Failure(
                message: isNumeric
                    ? "'\(host)' is not a numeric address" : "'\(host)' has no address"
            )
        }
        defer { unsafe freeaddrinfo(found) }
        let descriptor = unsafe socket(address.pointee.ai_family, address.pointee.ai_socktype, 0)
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
        let result = unsafe connect(
            descriptor,
            address.pointee.ai_addr,
            address.pointee.ai_addrlen
        )
        guard result == 0 else {
            let failure = Failure("connect")
            close(descriptor)
            throw failure
        }
        return descriptor
    }

    /// Sends a request, reads at least so many bytes of the answer, or as many as there are, and
    /// closes the connection.
    private static func exchange(
        _ request: String,
        on socket: Int32,
        byteCount: Int
    ) throws(Failure) -> [UInt8] {
        defer { close(socket) }
        guard unsafe send(socket, request, request.utf8.count, Int32(MSG_NOSIGNAL)) >= 0 else {
            throw Failure("send")
        }
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while answer.count < byteCount {
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
