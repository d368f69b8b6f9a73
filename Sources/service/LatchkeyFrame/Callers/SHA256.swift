internal import CGnuTLS

/// The hash function SHA-256 (FIPS 180-4) of GnuTLS.
///
/// SAFETY: `@safe` because the handle is made once, freed once, and used in between.
@safe
package struct SHA256: ~Copyable {
    private let handle: gnutls_hash_hd_t

    package init() {
        var handle: gnutls_hash_hd_t?
        let code = unsafe gnutls_hash_init(&handle, GNUTLS_DIG_SHA256)
        guard code == GNUTLS_E_SUCCESS, let handle = unsafe handle else {
            preconditionFailure("GnuTLS has SHA-256, and there is memory for it.")
        }
        unsafe self.handle = handle
    }

    /// Adds bytes to the message.
    package func update(_ bytes: UnsafeRawBufferPointer) {
        // It fails for other functions only.
        unsafe gnutls_hash(handle, bytes.baseAddress, bytes.count)
    }

    /// The hash of the message; the next message begins.
    package func digest() -> SHA256Digest {
        unsafe SHA256Digest { unsafe gnutls_hash_output(handle, $0) }
    }

    deinit {
        unsafe gnutls_hash_deinit(handle, nil)
    }

    /// The hash of `message`.
    package static func digest(_ message: UnsafeRawBufferPointer) -> SHA256Digest {
        unsafe SHA256Digest { digest in
            let code = unsafe gnutls_hash_fast(
                GNUTLS_DIG_SHA256,
                message.baseAddress,
                message.count,
                digest
            )
            precondition(code == GNUTLS_E_SUCCESS, "GnuTLS has SHA-256.")
        }
    }

    /// The hash of `message`.
    package static func digest(_ message: [UInt8]) -> SHA256Digest {
        unsafe message.withUnsafeBytes { unsafe digest($0) }
    }

    /// The authentication code of `message` with a key (HMAC, RFC 2104).
    package static func authenticationCode(of message: [UInt8], key: [UInt8]) -> SHA256Digest {
        unsafe SHA256Digest { digest in
            let code = unsafe gnutls_hmac_fast(
                GNUTLS_MAC_SHA256,
                key,
                key.count,
                message,
                message.count,
                digest
            )
            precondition(code == GNUTLS_E_SUCCESS, "GnuTLS has HMAC with SHA-256.")
        }
    }
}

/// The 32 bytes of a hash, as four numbers.
package struct SHA256Digest: Hashable, Sendable {
    package static let byteCount = 32

    private var first: UInt64 = 0
    private var second: UInt64 = 0
    private var third: UInt64 = 0
    private var fourth: UInt64 = 0

    fileprivate init(_ fill: (UnsafeMutableRawPointer) -> Void) {
        unsafe withUnsafeMutableBytes(of: &self) { bytes in
            if let base = bytes.baseAddress { unsafe fill(base) }
        }
    }

    /// The digest with these bytes; nil unless there are 32.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        unsafe withUnsafeMutableBytes(of: &self) { unsafe $0.copyBytes(from: bytes) }
    }

    package var bytes: [UInt8] {
        unsafe withUnsafeBytes(of: self) { unsafe Array($0) }
    }

    /// Eight of the bytes: a short name of the message.
    package var prefix: UInt64 { first }

    /// Whether both are the same, in a time that does not depend on where they differ.
    package func isEqual(to other: SHA256Digest) -> Bool {
        (first ^ other.first) | (second ^ other.second) | (third ^ other.third)
            | (fourth ^ other.fourth) == 0
    }
}
