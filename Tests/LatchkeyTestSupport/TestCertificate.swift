import CGnuTLS
import Foundation

/// A certificate that is made for a test, with its key, in PEM.
public struct TestCertificate: Sendable {
    /// The certificate.
    public let certificate: String
    /// Its key.
    public let key: String
    /// The certificate in DER.
    public let der: [UInt8]

    /// Makes a certificate for 127.0.0.1 and `localhost`, signed by another one or by itself.
    ///
    /// - Parameters:
    ///   - name: The common name of its subject.
    ///   - isAuthority: Whether it can sign others.
    ///   - isForClients: Whether a client may show it; else a server.
    ///   - issuer: The certificate that signs it; nil for itself.
    ///   - seconds: When it ends, from now on.
    public init(
        _ name: String = "localhost",
        isAuthority: Bool = false,
        isForClients: Bool = false,
        signedBy issuer: TestCertificate? = nil,
        endsIn seconds: Int = 3600
    ) {
        let key = unsafe Self.newKey()
        var made: gnutls_x509_crt_t?
        unsafe gnutls_x509_crt_init(&made)
        let certificate = unsafe made.unsafelyUnwrapped
        defer {
            unsafe gnutls_x509_crt_deinit(certificate)
            unsafe gnutls_x509_privkey_deinit(key)
        }
        let now = time(nil)
        var number = UInt64.random(in: 1...(.max >> 1)).bigEndian
        let address: [UInt8] = [127, 0, 0, 1]
        unsafe gnutls_x509_crt_set_version(certificate, 3)
        unsafe gnutls_x509_crt_set_serial(certificate, &number, 8)
        unsafe gnutls_x509_crt_set_activation_time(certificate, now - 7200)
        unsafe gnutls_x509_crt_set_expiration_time(certificate, now + seconds)
        unsafe gnutls_x509_crt_set_dn_by_oid(
            certificate,
            GNUTLS_OID_X520_COMMON_NAME,
            0,
            name,
            UInt32(name.utf8.count)
        )
        unsafe gnutls_x509_crt_set_subject_alt_name(
            certificate,
            GNUTLS_SAN_DNSNAME,
            "localhost",
            9,
            UInt32(GNUTLS_FSAN_APPEND)
        )
        unsafe gnutls_x509_crt_set_subject_alt_name(
            certificate,
            GNUTLS_SAN_IPADDRESS,
            address,
            4,
            UInt32(GNUTLS_FSAN_APPEND)
        )
        unsafe gnutls_x509_crt_set_basic_constraints(certificate, isAuthority ? 1 : 0, -1)
        unsafe gnutls_x509_crt_set_key(certificate, key)
        if !isAuthority {
            let purpose = isForClients ? GNUTLS_KP_TLS_WWW_CLIENT : GNUTLS_KP_TLS_WWW_SERVER
            unsafe gnutls_x509_crt_set_key_purpose_oid(certificate, purpose, 0)
        }
        if let issuer {
            unsafe issuer.sign(certificate)
        } else {
            unsafe gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0)
        }
        self.certificate = unsafe Self.text { buffer, count in
            unsafe gnutls_x509_crt_export(certificate, GNUTLS_X509_FMT_PEM, buffer, &count)
        }
        der =
            Data(
                base64Encoded: self.certificate.split(separator: "\n").dropFirst().dropLast()
                    .joined()
            ).map(Array.init) ?? []
        self.key = unsafe Self.text { buffer, count in
            unsafe gnutls_x509_privkey_export(key, GNUTLS_X509_FMT_PEM, buffer, &count)
        }
    }

    private static func newKey() -> gnutls_x509_privkey_t {
        var key: gnutls_x509_privkey_t?
        unsafe gnutls_x509_privkey_init(&key)
        // GNUTLS_CURVE_TO_BITS, which is a macro.
        let curve = UInt32(GNUTLS_ECC_CURVE_SECP256R1.rawValue) | 1 << 31
        let made = unsafe key.unsafelyUnwrapped
        unsafe gnutls_x509_privkey_generate(made, GNUTLS_PK_ECDSA, curve, 0)
        return unsafe made
    }

    private func sign(_ certificate: gnutls_x509_crt_t) {
        var issuer: gnutls_x509_crt_t?
        var secret: gnutls_x509_privkey_t?
        unsafe gnutls_x509_crt_init(&issuer)
        unsafe gnutls_x509_privkey_init(&secret)
        unsafe Self.withDatum(self.certificate) {
            _ = unsafe gnutls_x509_crt_import(issuer, &$0, GNUTLS_X509_FMT_PEM)
        }
        unsafe Self.withDatum(key) {
            _ = unsafe gnutls_x509_privkey_import(secret, &$0, GNUTLS_X509_FMT_PEM)
        }
        unsafe gnutls_x509_crt_sign2(certificate, issuer, secret, GNUTLS_DIG_SHA256, 0)
        unsafe gnutls_x509_crt_deinit(issuer)
        unsafe gnutls_x509_privkey_deinit(secret)
    }

    /// Lets a client show it.
    func add(to credentials: gnutls_certificate_credentials_t) {
        var chain = Array(certificate.utf8)
        var secret = Array(key.utf8)
        unsafe chain.withUnsafeMutableBufferPointer { chain in
            unsafe secret.withUnsafeMutableBufferPointer { secret in
                var first = unsafe gnutls_datum_t(
                    data: chain.baseAddress,
                    size: UInt32(chain.count)
                )
                var second = unsafe gnutls_datum_t(
                    data: secret.baseAddress,
                    size: UInt32(secret.count)
                )
                unsafe gnutls_certificate_set_x509_key_mem2(
                    credentials,
                    &first,
                    &second,
                    GNUTLS_X509_FMT_PEM,
                    nil,
                    0
                )
            }
        }
    }

    private static func withDatum(_ text: String, _ body: (inout gnutls_datum_t) -> Void) {
        var bytes = Array(text.utf8)
        unsafe bytes.withUnsafeMutableBufferPointer { bytes in
            var datum = unsafe gnutls_datum_t(data: bytes.baseAddress, size: UInt32(bytes.count))
            unsafe body(&datum)
        }
    }

    private static func text(_ export: (UnsafeMutableRawPointer, inout Int) -> Void) -> String {
        var bytes = [UInt8](repeating: 0, count: 8192)
        var count = bytes.count
        unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe export(buffer.baseAddress.unsafelyUnwrapped, &count)
        }
        return String(decoding: bytes[..<count], as: UTF8.self)
    }
}
