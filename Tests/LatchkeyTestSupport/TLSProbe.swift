import CGnuTLS
import Foundation

/// One connection over TLS that says what it has seen of the server.
///
/// SAFETY: `@safe` because the connection's pointer is valid as long as the connection.
@safe
public final class TLSProbe {
    /// What a session is resumed with.
    public struct Ticket: Sendable {
        let bytes: [UInt8]
    }

    private let connection: LoopbackConnection
    private let session: TLSConnection

    /// The server's certificate, in DER.
    public let certificate: [UInt8]
    /// Whether the server has resumed the session of the ticket.
    public let isResumed: Bool
    /// Such as 1.3.
    public let version: String

    /// Makes the handshake.
    ///
    /// - Parameters:
    ///   - port: Of the server.
    ///   - version: The only one that is offered; nil for all.
    ///   - certificate: What the client shows.
    ///   - ticket: Of a former session.
    /// - Throws: If the server refuses it.
    public init(
        _ port: UInt16,
        version: String? = nil,
        certificate: TestCertificate? = nil,
        ticket: Ticket? = nil
    ) throws {
        connection = try LoopbackConnection(port: port, isEncrypted: false)
        session = try TLSConnection(
            connection.descriptor,
            priorities: version.map { "NORMAL:%COMPAT:-VERS-ALL:+VERS-TLS\($0)" } ?? "NORMAL",
            certificate: certificate,
            ticket: ticket?.bytes ?? []
        )
        var count: UInt32 = 0
        let chain = unsafe gnutls_certificate_get_peers(session.session, &count)
        self.certificate = unsafe chain.map { unsafe Array($0.pointee.bytes) } ?? []
        isResumed = unsafe gnutls_session_is_resumed(session.session) != 0
        let number = unsafe gnutls_protocol_get_version(session.session)
        self.version = number == GNUTLS_TLS1_3 ? "1.3" : "1.2"
    }

    /// Closes the connection.
    public func close() { connection.close() }

    /// Sends a request, and returns the body of its answer, which must come in one piece.
    public func ask(_ request: String) throws -> String {
        try answer(request).components(separatedBy: "\r\n\r\n")[1]
    }

    /// Sends a request, and returns the status of its answer.
    public func status(_ request: String) throws -> Int {
        Int(try answer(request).split(separator: " ")[1]) ?? 0
    }

    private func answer(_ request: String) throws -> String {
        let bytes = Array(request.utf8)
        guard unsafe bytes.withUnsafeBytes({ unsafe session.send($0) }) == bytes.count else {
            throw HTTPClientError("send", errno)
        }
        var text = ""
        repeat {
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe session.receive($0) }
            guard count > 0 else { throw HTTPClientError("recv", errno) }
            text += String(decoding: buffer[..<count], as: UTF8.self)
        } while !Self.isWhole(text)
        return text
    }

    /// Whether the head is there, and a part of the body if there is one.
    private static func isWhole(_ text: String) -> Bool {
        guard let end = text.range(of: "\r\n\r\n") else { return false }
        return end.upperBound < text.endIndex || !text.contains("Content-Length:")
            || text.contains("Content-Length: 0")
    }

    /// What the session can be resumed with: with TLS 1.3 only behind an answer.
    public var ticket: Ticket? {
        var data = unsafe gnutls_datum_t()
        guard unsafe gnutls_session_get_data2(session.session, &data) >= 0 else { return nil }
        defer { unsafe freeDatum(&data) }
        return Ticket(bytes: unsafe Array(data.bytes))
    }

    /// Asks for another handshake; whether the server makes it.
    public func renegotiates() -> Bool {
        errno = 0
        return unsafe gnutls_handshake(session.session) == GNUTLS_E_SUCCESS
    }
}

/// `gnutls_free` is a variable that Swift takes for one that is shared.
private func freeDatum(_ data: inout gnutls_datum_t) {
    unsafe free(data.data)
}

extension gnutls_datum_t {
    var bytes: UnsafeBufferPointer<UInt8> {
        unsafe UnsafeBufferPointer(start: data, count: Int(size))
    }
}
