/// The identity of a client, for its share of the resources that all clients use.
///
/// That is its token, or else its address: IPv4 in full, and the first 64 bits of IPv6, because a
/// client has all addresses below those. To the code that counts, it is opaque.
package struct ClientKey: Hashable, Codable, Sendable {
    private enum Kind: UInt8, Codable {
        case token
        case ipv4
        case ipv6
    }

    private let kind: Kind
    package let bits: UInt64

    /// The kind of the client, which tells clients with the same bits apart.
    package var kindNumber: UInt8 { kind.rawValue }

    /// The client that has a token.
    package init(tokenNumber: UInt64) {
        kind = .token
        bits = tokenNumber
    }

    /// The number of the token; nil for an address.
    var tokenNumber: UInt64? { kind == .token ? bits : nil }

    package init(_ address: NetworkAddress) {
        let (first, last) = address.halves
        kind = first == 0 && last >> 32 == 0xFFFF ? .ipv4 : .ipv6
        bits = kind == .ipv4 ? last : first
    }
}
