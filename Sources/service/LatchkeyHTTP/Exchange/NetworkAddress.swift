import CLatchkeyHTTP
import Glibc

/// An address of IPv4 or IPv6; an IPv4 address is the same as the IPv6 address that it is mapped
/// to.
///
/// SAFETY: `@safe` because the C type is sixteen bytes.
@safe
package struct NetworkAddress: Sendable {
    let bytes: latchkey_http_address

    init(_ bytes: latchkey_http_address) {
        self.bytes = bytes
    }

    /// Reads `1.2.3.4` or `2001:db8::1`; nil if it is neither.
    package init?(_ text: some StringProtocol) {
        let text = String(text)
        var four = in_addr()
        var six = in6_addr()
        if unsafe inet_pton(AF_INET, text, &four) == 1 {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr = four
            self.init(address)
        } else if unsafe inet_pton(AF_INET6, text, &six) == 1 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_addr = six
            self.init(address)
        } else {
            return nil
        }
    }

    private init<Address>(_ address: Address) {
        bytes = unsafe withUnsafePointer(to: address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe latchkey_http_address_of($0)
            }
        }
    }

    /// The sixteen bytes as two numbers in the order of the network.
    var halves: (first: UInt64, last: UInt64) {
        unsafe withUnsafeBytes(of: bytes) { bytes in
            unsafe (
                UInt64(bigEndian: bytes.load(as: UInt64.self)),
                UInt64(bigEndian: bytes.load(fromByteOffset: 8, as: UInt64.self))
            )
        }
    }
}

extension NetworkAddress {
    /// The address as people write it: `1.2.3.4` or `2001:db8::1`.
    package var text: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let (first, last) = halves
        if first == 0, last >> 32 == 0xFFFF {
            var four = in_addr(s_addr: UInt32(truncatingIfNeeded: last).bigEndian)
            unsafe inet_ntop(AF_INET, &four, &text, socklen_t(text.count))
        } else {
            var six = bytes
            unsafe inet_ntop(AF_INET6, &six, &text, socklen_t(text.count))
        }
        return String(
            decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) },
            as: UTF8.self
        )
    }
}

/// All addresses that begin with the same bits.
package struct Network: Sendable {
    let network: latchkey_http_network

    /// Reads an address, which stands for itself, or `10.0.0.0/8`; nil if it is neither.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = NetworkAddress(parts[0]) else { return nil }
        let offset = parts[0].contains(":") ? 0 : 96
        var bits = 128
        if parts.count == 2 {
            guard let length = Int(parts[1]), parts[1].first != "+",
                (0...128 - offset).contains(length)
            else { return nil }
            bits = offset + length
        }
        network = latchkey_http_network(address: address.bytes, prefix_bits: UInt32(bits))
    }
}
