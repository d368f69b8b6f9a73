import CLatchkeyHTTP

/// The certificate of a server with its key, for TLS: texts in PEM.
package struct TLSIdentity: Sendable, Equatable {
    /// The certificate, followed by those that a client needs to verify it.
    package let certificates: String
    /// The key of the first of them.
    package let key: String
    /// Those whose certificates clients may show; nil if no client is asked for one.
    package let authorities: String?

    package init(certificates: String, key: String, authorities: String? = nil) {
        self.certificates = certificates
        self.key = key
        self.authorities = authorities
    }

    /// When the certificate ends, in seconds since 1970.
    ///
    /// - Throws: The fault of the texts.
    package func expiry() throws(TLSIdentityError) -> Int64 {
        let made = unsafe try made()
        defer { unsafe latchkey_http_identity_destroy(made) }
        return unsafe latchkey_http_identity_expiry(made)
    }

    /// Makes the identity that the C server takes over.
    func made() throws(TLSIdentityError) -> OpaquePointer {
        var reason = [CChar](repeating: 0, count: Int(LATCHKEY_HTTP_REASON_BYTES))
        let made =
            if let authorities {
                unsafe latchkey_http_identity_create(certificates, key, authorities, &reason)
            } else {
                unsafe latchkey_http_identity_create(certificates, key, nil, &reason)
            }
        guard let made = unsafe made else {
            let bytes = reason.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            throw TLSIdentityError(message: String(decoding: bytes, as: UTF8.self))
        }
        return unsafe made
    }
}

/// The reason why an identity cannot be used: a sentence without its full stop.
package struct TLSIdentityError: Error, Sendable {
    package let message: String
}

/// The certificate that the client of a request showed in its handshake.
package enum ClientCertificate: Sendable {
    /// None, or the connection is not encrypted.
    case none
    /// The common name of its subject.
    case valid(String)
    /// It is not of one of the authorities, has ended, is not for clients, or has no name.
    case refused
}

extension Exchange {
    /// The client's certificate, which was verified.
    package var clientCertificate: ClientCertificate {
        var name: UnsafePointer<CChar>?
        var count = 0
        switch unsafe latchkey_http_request_certificate(request, &name, &count) {
        case LATCHKEY_HTTP_CERTIFICATE_NONE: return .none
        case LATCHKEY_HTTP_CERTIFICATE_VALID:
            return unsafe name.map { .valid(unsafe String(cString: $0)) } ?? .refused
        default: return .refused
        }
    }
}
