internal import LatchkeyFrame
internal import LatchkeyHTTP

/// A hash of a request's method, target and body, to tell a repeat from another request.
///
/// The length of the wait does not count: a client that has lost its connection asks again for the
/// rest of its time.
///
/// SHA-256, so that a client cannot find two requests with one fingerprint, and so that it is the
/// same in each process: a repeat can come after a restart.
struct RequestFingerprint: Sendable, Hashable {
    let bytes: [UInt8]

    init(method: Bytes, path: Bytes, query: Bytes, body: Bytes) {
        let hasher = SHA256()
        func add(_ part: UnsafeRawBufferPointer) {
            // The length separates the end of one part from the start of the next.
            unsafe withUnsafeBytes(of: UInt64(part.count).littleEndian) {
                unsafe hasher.update($0)
            }
            unsafe hasher.update(part)
        }
        unsafe method.withUnsafeBytes { unsafe add($0) }
        unsafe path.withUnsafeBytes { unsafe add($0) }
        unsafe Self.withoutWait(query).withUnsafeBytes { unsafe add($0) }
        unsafe body.withUnsafeBytes { unsafe add($0) }
        bytes = hasher.digest().bytes
    }

    /// The parameters of a query, unchanged, without `wait`.
    private static func withoutWait(_ query: Bytes) -> [UInt8] {
        // Most writes have none, and each write of a client has a key.
        guard !query.isEmpty else { return [] }
        let (ampersand, wait) = (UInt8(ascii: "&"), Bytes("wait="))
        return Array(
            query.split(separator: ampersand, omittingEmptySubsequences: false)
                .filter { !$0.starts(with: wait) }
                .joined(separator: [ampersand])
        )
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
