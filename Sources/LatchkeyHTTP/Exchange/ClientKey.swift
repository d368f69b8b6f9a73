/// Who a client is, for its share of what all clients use.
///
/// Today that is its address: IPv4 in full, and the first 64 bits of IPv6, because a client has all
/// addresses below those. To those who count, it is opaque.
package struct ClientKey: Hashable, Codable, Sendable {
    private let isIPv4: Bool
    private let bits: UInt64

    package init(_ address: NetworkAddress) {
        let (first, last) = address.halves
        isIPv4 = first == 0 && last >> 32 == 0xFFFF
        bits = isIPv4 ? last : first
    }
}
