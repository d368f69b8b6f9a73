internal import Foundation
internal import Glibc

/// Requests to a service on this machine: enough HTTP to prepare it and to read its report.
enum WireClient {
    private static let timeoutSeconds = 10

    /// Sends a request on a connection of its own, and returns the status and the body of its
    /// answer, which ends with the connection.
    ///
    /// Blocks, at most ``timeoutSeconds`` for each call of the system.
    static func answer(
        _ port: UInt16,
        _ method: String,
        _ target: String,
        body: String = ""
    ) throws(ComparisonError) -> (status: Int, body: Data) {
        let request = """
            \(method) \(target) HTTP/1.1\r
            Host: 127.0.0.1\r
            Connection: close\r
            Content-Type: application/json\r
            Content-Length: \(body.utf8.count)\r
            \r
            \(body)
            """
        let text: Data
        do {
            let connection = try connected(to: port)
            try connection.write(contentsOf: Data(request.utf8))
            text = try connection.readToEnd() ?? Data()
        } catch {
            throw ComparisonError("The service does not answer: \(error.localizedDescription).")
        }
        let digits = text.dropFirst("HTTP/1.1 ".count).prefix(3)
        guard let head = text.firstRange(of: Data("\r\n\r\n".utf8)),
            let status = Int(String(decoding: digits, as: UTF8.self))
        else { throw ComparisonError("The service's answer is not HTTP.") }
        return (status, text[head.upperBound...])
    }

    private static func connected(to port: UInt16) throws -> FileHandle {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        let connection = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var timeout = timeval(tv_sec: timeoutSeconds, tv_usec: 0)
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
        guard result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        return connection
    }
}
