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

    /// The probable mistake in the address or the files of a command.
    package enum Hint: Sendable {
        /// The service's certificate is of an authority that the machine does not know.
        case unknownAuthority
        /// HTTPS was sent to a port that does not speak it.
        case noTLS
        /// Nothing answers there.
        case address
        /// The answer to HTTP is not HTTP, as from a port that speaks TLS.
        case tls
    }

    package let kind: Kind
    package let message: String
    /// Whether nothing was sent.
    package let isUnsent: Bool
    package let hint: Hint?

    /// - Parameters:
    ///   - kind: The kind of failure.
    ///   - message: A sentence without its full stop.
    ///   - isUnsent: Whether nothing was sent; nil if the kind says so.
    ///   - hint: The probable mistake.
    package init(_ kind: Kind, _ message: String, isUnsent: Bool? = nil, hint: Hint? = nil) {
        self.hint = hint
        self.kind = kind
        self.message = message
        self.isUnsent = isUnsent ?? [.unconnected, .wrong].contains(kind)
    }

    /// Whether the service may answer if it is asked again.
    package var isTransient: Bool { [.unconnected, .timedOut, .broken].contains(kind) }
}
