import Foundation
import LatchkeySync
import LatchkeyTestSupport

/// A server of HTTP/2 on loopback that answers each call in the same way, also as no etcd would.
///
/// SAFETY: `@unchecked Sendable` because the descriptor is not changed after `init`.
final class ScriptedEtcd: @unchecked Sendable {
    struct Failure: Error {
        let call: String
    }

    /// How each call ends.
    struct Answer: Sendable {
        var httpStatus = 200
        /// Of gRPC; nil for none.
        var status: Int?
        var reason = ""

        /// The fields, not compressed (RFC 7541, section 6.2.2).
        fileprivate var fields: [UInt8] {
            var bytes = [0x08] + Self.text("\(httpStatus)")
            if let status {
                bytes += [0] + Self.text("grpc-status") + Self.text("\(status)")
                bytes += [0] + Self.text("grpc-message") + Self.text(reason)
            }
            return bytes
        }

        private static func text(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + text.utf8 }
    }

    private static let prefaceByteCount = 24

    private let descriptor: Int32
    private let port: UInt16
    private let answer: Answer
    private let accepted = Guarded(0)

    init(_ answer: Answer) throws {
        self.answer = answer
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(call: "socket") }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var count = socklen_t(MemoryLayout<sockaddr_in>.size)
        let (listener, length) = (descriptor, count)
        let status = unsafe withUnsafeMutablePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe bind(listener, address, length) == 0 && listen(listener, 16) == 0
                    ? unsafe getsockname(listener, address, &count) : -1
            }
        }
        guard status == 0 else { throw Failure(call: "listen") }
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { [listener, answer, accepted] in
            while case let connection = accept(listener, nil, nil), connection >= 0 {
                accepted.write { $0 += 1 }
                Thread.detachNewThread { Self.serve(connection, answer) }
            }
            close(listener)
        }
    }

    deinit { shutdown(descriptor, Int32(SHUT_RDWR)) }

    var address: String { "http://127.0.0.1:\(port)" }

    /// How many connections there were.
    var connectionCount: Int { accepted.read { $0 } }

    private static func serve(_ connection: Int32, _ answer: Answer) {
        let input = FileHandle(fileDescriptor: connection, closeOnDealloc: true)
        guard read(input, prefaceByteCount) != nil else { return }
        send(connection, type: 4, flags: 0, stream: 0, [])
        while let head = read(input, 9) {
            let count = head[0..<3].reduce(0) { $0 << 8 | Int($1) }
            guard let content = count == 0 ? [] : read(input, count) else { return }
            let stream = head[5..<9].reduce(0) { $0 << 8 | UInt32($1) }
            switch (head[3], head[4] & 1) {
            // The end of a request, settings, and pings.
            case (0, 1), (1, 1): send(connection, type: 1, flags: 5, stream: stream, answer.fields)
            case (4, 0): send(connection, type: 4, flags: 1, stream: 0, [])
            case (6, 0): send(connection, type: 6, flags: 1, stream: 0, content)
            case _: break
            }
        }
    }

    private static func read(_ input: FileHandle, _ count: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < count {
            guard let part = try? input.read(upToCount: count - bytes.count), !part.isEmpty
            else { return nil }
            bytes += part
        }
        return bytes
    }

    /// Sends a frame (RFC 9113, section 4.1).
    private static func send(
        _ connection: Int32,
        type: UInt8,
        flags: UInt8,
        stream: UInt32,
        _ content: [UInt8]
    ) {
        let count = content.count
        let head: [UInt8] =
            [UInt8(count >> 16 & 0xFF), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF), type, flags]
            + (0..<4).map { UInt8(stream >> (24 - 8 * $0) & 0xFF) }
        let frame = head + content
        // A client may have gone.
        _ = unsafe frame.withUnsafeBytes { bytes in
            unsafe Foundation.send(connection, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        }
    }
}
