internal import Foundation
internal import Glibc

/// One connection to a service on this machine: enough HTTP to prepare it and to read its report.
///
/// Answers have a `Content-Length`, as all of the service's here do. Blocks, at most
/// ``timeoutSeconds`` for each call of the system.
final class WireClient {
    private static let timeoutSeconds = 10
    private static let byteCountMax = 1 << 24

    private let descriptor: Int32
    private var unread: [UInt8] = []

    init(port: UInt16) throws(WireError) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw Self.failure("socket") }
        var timeout = timeval(tv_sec: Self.timeoutSeconds, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            unsafe setsockopt(descriptor, SOL_SOCKET, option, &timeout, size)
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe connect(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            let failure = Self.failure("connect")
            close(descriptor)
            throw failure
        }
    }

    deinit {
        close(descriptor)
    }

    /// Sends a request and returns the status and the body of its answer.
    func request(
        _ method: String,
        _ target: String,
        body: String = ""
    ) throws(WireError) -> (status: Int, body: [UInt8]) {
        let head = "\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        let length = method == "GET" ? "" : "Content-Length: \(body.utf8.count)\r\n"
        let type = body.isEmpty ? "" : "Content-Type: application/json\r\n"
        try send(Array((head + length + type + "\r\n" + body).utf8))
        return try answer()
    }

    private func send(_ bytes: [UInt8]) throws(WireError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { bytes in
                unsafe Glibc.send(
                    descriptor,
                    bytes.baseAddress,
                    bytes.count,
                    Int32(MSG_NOSIGNAL)
                )
            }
            guard count >= 0 || errno == EINTR else { throw Self.failure("send") }
            rest = rest.dropFirst(max(0, count))
        }
    }

    private func answer() throws(WireError) -> (status: Int, body: [UInt8]) {
        let end = Array("\r\n\r\n".utf8)
        var head: Range<Int>?
        while head == nil {
            try receive()
            head = unread.firstRange(of: end)
        }
        guard let head else { throw WireError("The service's answer has no end.") }
        let lines = String(decoding: unread[..<head.lowerBound], as: UTF8.self)
            .split(separator: "\r\n")
        let status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        let length =
            lines.first { $0.lowercased().hasPrefix("content-length:") }
            .flatMap { Int($0.dropFirst("content-length:".count).filter(\.isNumber)) } ?? 0
        guard let status, length <= Self.byteCountMax else {
            throw WireError("The service's answer is not HTTP.")
        }
        while unread.count < head.upperBound + length {
            try receive()
        }
        let body = Array(unread[head.upperBound..<(head.upperBound + length)])
        unread.removeFirst(head.upperBound + length)
        return (status, body)
    }

    private func receive() throws(WireError) {
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        let count = unsafe chunk.withUnsafeMutableBytes { chunk in
            unsafe recv(descriptor, chunk.baseAddress, chunk.count, 0)
        }
        if count < 0, errno == EINTR { return }
        guard count >= 0 else { throw Self.failure("recv") }
        guard count > 0, unread.count <= Self.byteCountMax else {
            throw WireError("The service closed the connection.")
        }
        unread += chunk[..<count]
    }

    private static func failure(_ call: String) -> WireError {
        let reason = unsafe strerror(errno).map { unsafe String(cString: $0) } ?? "error \(errno)"
        return WireError("The service does not answer: \(call): \(reason).")
    }
}
