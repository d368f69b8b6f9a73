/// The identity of a request, to recognize its repeats.
package struct RequestIdentity: Sendable, Hashable {
    /// The key that the client has chosen, scoped by its token.
    package let key: [UInt8]
    /// A hash of the request's content, to tell a repeat from another request.
    package let fingerprint: [UInt8]

    package init(key: [UInt8], fingerprint: [UInt8]) {
        self.key = key
        self.fingerprint = fingerprint
    }

    /// Whether a service makes such keys and fingerprints: longer ones would take memory that no
    /// limit counts.
    package var isPossible: Bool {
        (1...1024).contains(key.count) && (1...64).contains(fingerprint.count)
    }
}
