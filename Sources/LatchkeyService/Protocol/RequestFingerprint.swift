internal import LatchkeyHTTP

/// A hash of a request's method, target and body, to tell a repeat from another request.
///
/// 128 bits from two SipHashes, whose key is random in each process, of two different prefixes. A
/// client cannot compute it, so it cannot look for two requests with one fingerprint. It is only
/// compared with that of the same key.
struct RequestFingerprint: Sendable, Hashable {
    private let first: Int
    private let second: Int

    init(method: Bytes, path: Bytes, query: Bytes, body: Bytes) {
        var hashers = (Hasher(), Hasher())
        hashers.0.combine(0)
        hashers.1.combine(1)
        for part in [method, path, query, body] {
            // The length keeps apart what is at the end of one part and at the start of the next.
            hashers.0.combine(part.count)
            hashers.1.combine(part.count)
            unsafe part.withUnsafeBytes { bytes in
                unsafe hashers.0.combine(bytes: bytes)
                unsafe hashers.1.combine(bytes: bytes)
            }
        }
        first = hashers.0.finalize()
        second = hashers.1.finalize()
    }

    init(_ exchange: Exchange) {
        self.init(
            method: exchange.methodBytes,
            path: exchange.path,
            query: exchange.query,
            body: exchange.body
        )
    }
}
