import Foundation

/// A connection to a server on loopback: the one socket of all test clients.
///
/// Not for use from several threads at once. Every call has a time limit, so that a server that
/// does not answer fails the test instead of hanging it.
public final class LoopbackConnection {
    private let descriptor: Int32
    private var isOpen = true
    private(set) var session: TLSSession?

    /// Connects.
    ///
    /// Each call waits for as long as `Patience` says.
    ///
    /// - Parameters:
    ///   - port: The port of the server.
    ///   - number: The last part of the client's own address, 127.0.0.N.
    ///   - isEncrypted: Whether the connection speaks TLS; nil if the port decides.
    ///   - offer: The offer of an encrypted connection.
    /// - Throws: If it is refused.
    public init(
        port: UInt16,
        from number: UInt8 = 1,
        isEncrypted: Bool? = nil,
        offer: TLSOffer = TLSOffer()
    ) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw HTTPClientError("socket", errno) }
        var timeout = timeval(tv_sec: Patience.seconds, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, size)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, size)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        var own = sockaddr_in()
        own.sin_family = sa_family_t(AF_INET)
        own.sin_addr.s_addr = (UInt32(0x7F00_0000) + UInt32(number)).bigEndian
        var result: Int32 = 0
        if number != 1 {
            result = unsafe withUnsafePointer(to: &own) { address in
                unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    unsafe bind(descriptor, address, length)
                }
            }
        }
        if result == 0 {
            result = unsafe withUnsafePointer(to: &address) { address in
                unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    unsafe connect(descriptor, address, length)
                }
            }
        }
        // The object is whole by now, so that its deinitializer runs, and closes.
        guard result == 0 else { throw HTTPClientError("connect", errno) }
        if isEncrypted ?? EncryptedPorts.contain(port) {
            session = try TLSSession(descriptor, offer)
        }
    }

    deinit {
        close()
    }

    /// Closes; once more does nothing.
    public func close() {
        guard isOpen else { return }
        isOpen = false
        session?.endSending()
        session = nil
        Foundation.close(descriptor)
    }

    /// Closes with a reset instead of an orderly end.
    public func reset() {
        var now = linger(l_onoff: 1, l_linger: 0)
        let size = socklen_t(MemoryLayout<linger>.size)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, size)
        session = nil
        close()
    }

    /// Says that nothing more will be sent, and goes on reading.
    public func endSending() {
        session?.endSending()
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Sends all of it; false if the server takes no more, with the reason in `errno`.
    public func send(_ bytes: some Sequence<UInt8>) -> Bool {
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { bytes in
                if let session { return unsafe session.send(bytes) }
                return unsafe Foundation.send(
                    descriptor,
                    bytes.baseAddress,
                    bytes.count,
                    Int32(MSG_NOSIGNAL)
                )
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Whether something has come that was not read; does not wait.
    public var hasReceived: Bool {
        var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&watched, 1, 0) > 0
    }

    /// Waits for more bytes: empty at the end of the stream, nil after an error, with the reason in
    /// `errno`.
    public func receive() -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe buffer.withUnsafeMutableBytes { buffer in
            if let session { return unsafe session.receive(buffer) }
            return unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0)
        }
        return count < 0 ? nil : Array(buffer[..<count])
    }
}

/// The ports of this process's tests on which servers speak TLS.
public enum EncryptedPorts {
    private static let lock = NSLock()
    nonisolated(unsafe) private static var ports: Set<UInt16> = []

    /// Makes all connections to a port encrypted, or plain: each server says it at its start, since
    /// an earlier one may have had the port.
    public static func set(_ port: UInt16, isEncrypted: Bool) {
        lock.withLock {
            _ = unsafe isEncrypted ? ports.insert(port).memberAfterInsert : ports.remove(port)
        }
    }

    static func contain(_ port: UInt16) -> Bool {
        lock.withLock { unsafe ports.contains(port) }
    }
}
