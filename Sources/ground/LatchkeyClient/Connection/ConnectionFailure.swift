/// Why there is no answer, in a sentence without its full stop.
package struct ConnectionFailure: Error, Equatable {
    package enum Kind: Sendable {
        /// The caller said so.
        case cancelled
        /// There was no connection: nothing was sent.
        case unconnected
        /// The address or a certificate is wrong: nothing was sent, and nothing will be.
        case wrong
        case timedOut
        /// The connection ended before the answer did.
        case broken
        /// It is not HTTP, or too long.
        case unusable
    }

    package let kind: Kind
    package let message: String
    /// Whether nothing was sent.
    package let isUnsent: Bool

    /// - Parameters:
    ///   - kind: What kind of failure it is.
    ///   - message: A sentence without its full stop.
    ///   - isUnsent: Whether nothing was sent; nil if the kind says so.
    package init(_ kind: Kind, _ message: String, isUnsent: Bool? = nil) {
        self.kind = kind
        self.message = message
        self.isUnsent = isUnsent ?? [.unconnected, .wrong].contains(kind)
    }

    /// Whether the service may answer if it is asked again.
    package var isTransient: Bool { [.unconnected, .timedOut, .broken].contains(kind) }
}
