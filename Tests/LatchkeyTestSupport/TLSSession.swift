import CGnuTLS
import Foundation

/// The offer of a TLS client to a server.
public struct TLSOffer: Sendable {
    let version: String?
    let serverName: String?
    let certificate: TestCertificate?
    let ticket: [UInt8]

    /// An offer.
    ///
    /// - Parameters:
    ///   - version: The only one that is offered, such as 1.3; nil for all.
    ///   - serverName: How the client calls the server; nil for nothing.
    ///   - certificate: The certificate that the client shows if it is asked for one.
    ///   - ticket: The ticket of a former session; empty for none.
    public init(
        version: String? = nil,
        serverName: String? = nil,
        certificate: TestCertificate? = nil,
        ticket: [UInt8] = []
    ) {
        self.version = version
        self.serverName = serverName
        self.certificate = certificate
        self.ticket = ticket
    }

    var priorities: String {
        version.map { "NORMAL:%COMPAT:-VERS-ALL:+VERS-TLS\($0)" } ?? "NORMAL"
    }
}

/// A client's session of TLS over a socket that is connected.
///
/// It does not verify the server: tests of that use `curl`.
///
/// SAFETY: `@safe` because the pointers stay inside, and are freed with the object.
@safe
public final class TLSSession {
    private let session: gnutls_session_t
    private let credentials: gnutls_certificate_credentials_t

    /// Makes the handshake; throws if the server refuses it.
    init(_ descriptor: Int32, _ offer: TLSOffer) throws {
        var credentials: gnutls_certificate_credentials_t?
        var session: gnutls_session_t?
        unsafe gnutls_certificate_allocate_credentials(&credentials)
        // Also a certificate of an authority that the server does not name.
        let flags = [GNUTLS_CLIENT, GNUTLS_NO_SIGNAL, GNUTLS_FORCE_CLIENT_CERT]
            .reduce(0) { $0 | UInt32($1.rawValue) }
        unsafe gnutls_init(&session, flags)
        guard let session = unsafe session, let credentials = unsafe credentials else {
            throw HTTPClientError("gnutls_init", ENOMEM)
        }
        unsafe self.session = session
        unsafe self.credentials = credentials
        unsafe gnutls_priority_set_direct(session, offer.priorities, nil)
        unsafe offer.certificate?.add(to: credentials)
        if let name = offer.serverName {
            unsafe gnutls_server_name_set(session, GNUTLS_NAME_DNS, name, name.utf8.count)
        }
        if !offer.ticket.isEmpty {
            unsafe gnutls_session_set_data(session, offer.ticket, offer.ticket.count)
        }
        unsafe gnutls_credentials_set(
            session,
            GNUTLS_CRD_CERTIFICATE,
            UnsafeMutableRawPointer(credentials)
        )
        unsafe gnutls_transport_set_int2(session, descriptor, descriptor)
        var code: Int32 = 0
        repeat {
            code = unsafe gnutls_handshake(session)
        } while code == GNUTLS_E_INTERRUPTED
        guard code == GNUTLS_E_SUCCESS else {
            throw HTTPClientError(unsafe String(cString: gnutls_strerror(code)), 0)
        }
    }

    deinit {
        unsafe gnutls_deinit(session)
        unsafe gnutls_certificate_free_credentials(credentials)
    }

    /// The server's certificate, in DER.
    public var certificate: [UInt8] {
        var count: UInt32 = 0
        let chain = unsafe gnutls_certificate_get_peers(session, &count)
        return unsafe chain.map { unsafe Array($0.pointee.bytes) } ?? []
    }

    /// Whether the server has resumed the session of the ticket.
    public var isResumed: Bool { unsafe gnutls_session_is_resumed(session) != 0 }

    /// 1.2 or 1.3.
    public var version: String {
        unsafe gnutls_protocol_get_version(session) == GNUTLS_TLS1_3 ? "1.3" : "1.2"
    }

    /// The ticket to resume the session with; with TLS 1.3 it comes only after an answer.
    public var ticket: [UInt8] {
        var data = unsafe gnutls_datum_t()
        guard unsafe gnutls_session_get_data2(session, &data) >= 0 else { return [] }
        // `gnutls_free` is a variable that Swift takes for one that is shared.
        defer { unsafe free(data.data) }
        return unsafe Array(data.bytes)
    }

    /// Asks for another handshake; whether the server makes it.
    public func renegotiates() -> Bool {
        errno = 0
        return unsafe gnutls_handshake(session) == GNUTLS_E_SUCCESS
    }

    /// Says that nothing more will be sent.
    func endSending() {
        unsafe gnutls_bye(session, GNUTLS_SHUT_WR)
    }

    /// Sends some of it; how many bytes, or a negative number with the reason in `errno`.
    func send(_ bytes: UnsafeRawBufferPointer) -> Int {
        var count = 0
        repeat {
            count = unsafe gnutls_record_send(session, bytes.baseAddress, bytes.count)
        } while count == Int(GNUTLS_E_INTERRUPTED)
        return said(count)
    }

    /// Waits for more bytes: 0 at the end, negative with the reason in `errno`.
    func receive(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        var count = 0
        repeat {
            errno = 0
            count = unsafe gnutls_record_recv(session, buffer.baseAddress, buffer.count)
            // Without an error of the socket, a message of the handshake has come: a ticket.
        } while count == Int(GNUTLS_E_INTERRUPTED) || count == Int(GNUTLS_E_AGAIN) && errno == 0
        // A killed server sends no goodbye; for a client that counts lengths that is an end.
        return count == Int(GNUTLS_E_PREMATURE_TERMINATION) ? 0 : said(count)
    }

    private func said(_ count: Int) -> Int {
        if count == Int(GNUTLS_E_AGAIN) {
            errno = EAGAIN
        } else if count < 0, errno == 0 {
            errno = ECONNRESET
        }
        return count
    }
}

extension gnutls_datum_t {
    fileprivate var bytes: UnsafeBufferPointer<UInt8> {
        unsafe UnsafeBufferPointer(start: data, count: Int(size))
    }
}
