internal import LatchkeyHTTP

/// A hash of a request's method, target and body, to tell a repeat from another request.
///
/// SHA-256, so that a client cannot find two requests with one fingerprint, and so that it is the
/// same in each process: a repeat can come after a restart.
struct RequestFingerprint: Sendable, Hashable {
    static let byteCount = 32

    let bytes: [UInt8]

    /// A fingerprint that was made by an earlier process.
    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    init(method: Bytes, path: Bytes, query: Bytes, body: Bytes) {
        let hasher = SHA256()
        for part in [method, path, query, body] {
            // The length keeps apart what is at the end of one part and at the start of the next.
            unsafe withUnsafeBytes(of: UInt64(part.count).littleEndian) {
                unsafe hasher.update($0)
            }
            unsafe part.withUnsafeBytes { unsafe hasher.update($0) }
        }
        bytes = hasher.digest().bytes
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
