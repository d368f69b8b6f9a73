/// What a request is known by when it is sent again.
package struct RequestIdentity: Sendable, Hashable {
    /// What the client has chosen, and who it is.
    package let key: [UInt8]
    /// A hash of what the request asks for, to tell a repeat from another request.
    package let fingerprint: [UInt8]

    package init(key: [UInt8], fingerprint: [UInt8]) {
        self.key = key
        self.fingerprint = fingerprint
    }

    /// Whether a service makes such keys and fingerprints: longer ones would take memory that no
    /// bound counts.
    package var isPossible: Bool {
        (1...1024).contains(key.count) && (1...64).contains(fingerprint.count)
    }
}
