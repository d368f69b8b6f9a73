package import LatchkeySettings

/// The choices about encryption.
package struct TLSSettings: Sendable, Equatable {
    /// The file of the service's certificate; empty for none: then the service speaks plain HTTP.
    package var certificate = ""
    package var key = ""
    /// The file of the authorities for clients' certificates; empty for none.
    package var clientAuthorities = ""

    package init() {}

    /// Whether the service speaks TLS.
    package var isOn: Bool { !certificate.isEmpty }
}

extension TLSSettings: Configurable {
    package static let standard = Self()

    package static let settings: [Setting<Self>] = [
        .path(
            "tls-certificate",
            \.certificate,
            "A file with the service's certificate and its chain, in PEM, or none. With it and "
                + "--tls-key, the service speaks TLS 1.2 and 1.3 only. The service rereads it "
                + "when it changes and at SIGHUP."
        ),
        .path(
            "tls-key",
            \.key,
            "A file with the key of --tls-certificate, in PEM without a password, or none."
        ),
        .path(
            "tls-client-ca",
            \.clientAuthorities,
            "A file with certificates of the authorities of clients, in PEM, or none. A client "
                + "with a certificate of one of them has the rights of the token whose name is "
                + "the common name of its subject. Needs --token-file."
        ),
    ]
}
