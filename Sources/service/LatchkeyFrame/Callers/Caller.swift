package import LatchkeyHTTP
package import LatchkeyStore

/// The sender of a request: the holder of a token, or any client if the service asks for no tokens.
///
/// **Design.** A reference that is not counted: all threads that serve would write to one count.
///
/// SAFETY: `@safe` because ``AccessControl`` keeps every token until the process ends.
@safe
package struct Caller: @unchecked Sendable {
    private let token: Unmanaged<Token>?

    /// May do everything, because the service asks for no tokens.
    package static let anybody = unsafe Caller(nil)

    /// May do nothing: the sender of the request is not known yet.
    package static let unknown = Caller(Token.none)

    private init(_ token: Unmanaged<Token>?) {
        unsafe self.token = token
    }

    package init(_ token: Token) {
        unsafe self.init(Unmanaged.passUnretained(token))
    }

    /// Whether it is ``anybody``, which needs no check.
    @inline(__always)
    package var isAnybody: Bool { unsafe token == nil }

    /// Whether the service asks for tokens, and the request has shown none.
    package var isUnknown: Bool { !isAnybody && name == nil }

    /// The result of `body` with the token; nil without one.
    @inline(__always)
    private func with<Result>(_ body: (Token) -> Result) -> Result? {
        unsafe token?._withUnsafeGuaranteedRef(body)
    }

    /// The name of the token; nil without one.
    package var name: String? { with { $0.client == nil ? nil : $0.name } ?? nil }

    /// The bytes of ``name``.
    package var author: [UInt8]? { with { $0.client == nil ? nil : $0.nameBytes } ?? nil }

    /// The client that shares are counted for; nil without a token.
    package var client: ClientKey? { with { $0.client } ?? nil }

    package var isRevoked: Bool { with { $0.isRevoked } ?? false }

    package func allows(_ right: Right) -> Bool {
        with { $0.allows(right) } ?? true
    }

    package func allows(_ right: Right, _ name: PropertyName) -> Bool {
        with { unsafe $0.allows(right, name.bytes) } ?? true
    }

    package func allows(_ right: Right, prefix: [UInt8]) -> Bool {
        with { token in unsafe prefix.withUnsafeBytes { unsafe token.allows(right, $0) } } ?? true
    }

    /// Whether the caller may see data that shows these properties, given as names or as prefixes.
    package func reads(_ shown: [PropertyName]) -> Bool {
        isAnybody || shown.allSatisfy { allows(.read, $0) }
    }

    /// A text that a client chose, made different for each token.
    package func scoped(_ text: [UInt8]) -> [UInt8] {
        name.map { Array($0.utf8) + [0] + text } ?? text
    }
}
