/// What a request is known by when it is sent again.
@usableFromInline
package struct RequestIdentity: Sendable, Hashable {
    /// What the client has chosen, and who it is.
    package let key: [UInt8]
    /// A hash of what the request asks for, to tell a repeat from another request.
    package let fingerprint: [UInt8]

    package init(key: [UInt8], fingerprint: [UInt8]) {
        self.key = key
        self.fingerprint = fingerprint
    }
}
