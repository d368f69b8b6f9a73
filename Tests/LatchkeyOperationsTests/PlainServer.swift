import Foundation
import LatchkeyStrategies

/// A server on loopback that answers each connection once, also in ways that no server should.
///
/// It serves until the program of the tests ends.
///
/// SAFETY: `@unchecked Sendable` because only the lock's contents change.
final class PlainServer: @unchecked Sendable {
    enum Behaviour {
        /// Without fields, the length is not declared either: the connection's end is the body's.
        case answer(String, [String]?, String)
        /// No answer until the client has gone.
        case silence
        /// Bytes until the client has gone.
        case endless
        /// Bytes that are not HTTP.
        case broken
        /// These bytes.
        case raw(String)
    }

    let port: UInt16
    private let listener: Int32
    private let received = Synchronized<[String], LockStrategy>([])
    private let arrived = DispatchSemaphore(value: 0)
    private let behaviour: @Sendable (String) -> Behaviour

    init(_ behaviour: @escaping @Sendable (String) -> Behaviour) throws {
        self.behaviour = behaviour
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let isBound = unsafe withUnsafeMutablePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe bind(listener, address, length) == 0 && listen(listener, 16) == 0
                    && getsockname(listener, address, &length) == 0
            }
        }
        guard isBound else { throw POSIXError(.EADDRINUSE) }
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { [self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                Thread.detachNewThread { [self] in serve(connection) }
            }
        }
    }

    var host: String { "127.0.0.1:\(port)" }
    var base: String { "http://\(host)" }

    /// The heads of the requests so far.
    var requests: [String] { received.read { $0 } }

    /// Waits until this many requests have come since the start.
    func awaitRequests(_ count: Int) {
        while requests.count < count { arrived.wait() }
    }

    private func serve(_ connection: Int32) {
        defer { close(connection) }
        guard let request = Self.head(connection) else { return }
        received.write { $0.append(request) }
        arrived.signal()
        switch behaviour(request) {
        case .answer(let status, let fields, let body):
            let length = fields.map { $0 + ["Content-Length: \(body.utf8.count)"] } ?? []
            let lines = ["HTTP/1.1 \(status)", "Connection: close"] + length + ["", body]
            _ = Self.send(lines.joined(separator: "\r\n"), connection)
        case .silence:
            _ = Self.head(connection)
        case .endless:
            var isThere = Self.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", connection)
            while isThere { isThere = Self.send(String(repeating: "1", count: 999), connection) }
        case .broken:
            _ = Self.send("HTTP? no\r\n\r\n", connection)
        case .raw(let text):
            _ = Self.send(text, connection)
        }
    }

    /// Reads up to an empty line; nil at the end of the connection.
    private static func head(_ connection: Int32) -> String? {
        var text = ""
        var buffer = [UInt8](repeating: 0, count: 4096)
        while !text.contains("\r\n\r\n") {
            let count = unsafe recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            text += String(decoding: buffer[..<count], as: UTF8.self)
        }
        return text
    }

    private static func send(_ text: String, _ connection: Int32) -> Bool {
        let bytes = Array(text.utf8)
        return unsafe bytes.withUnsafeBytes { bytes in
            unsafe Foundation.send(connection, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
                == bytes.count
        }
    }
}
