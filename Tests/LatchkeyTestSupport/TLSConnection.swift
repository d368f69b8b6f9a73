import CGnuTLS
import Foundation

/// A client's session of TLS over a socket that is connected.
///
/// It does not verify the server: tests of that use `curl`.
///
/// SAFETY: `@safe` because the pointers stay inside, and are freed with the object.
@safe
final class TLSConnection {
    let session: gnutls_session_t
    private let credentials: gnutls_certificate_credentials_t

    /// Makes the handshake.
    ///
    /// - Parameters:
    ///   - descriptor: Of the socket.
    ///   - priorities: What is offered, as GnuTLS spells it.
    ///   - certificate: What the client shows if it is asked for one.
    ///   - ticket: What a former session is resumed with; empty for none.
    /// - Throws: If the server refuses it.
    init(
        _ descriptor: Int32,
        priorities: String = "NORMAL",
        certificate: TestCertificate? = nil,
        ticket: [UInt8] = []
    ) throws {
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
        unsafe gnutls_priority_set_direct(session, priorities, nil)
        unsafe certificate?.add(to: credentials)
        if !ticket.isEmpty { unsafe gnutls_session_set_data(session, ticket, ticket.count) }
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
        // A server that is killed says no goodbye; to a client that counts lengths that is an end.
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
