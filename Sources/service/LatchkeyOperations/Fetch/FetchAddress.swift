internal import Glibc

/// An address of the Internet Protocol, as its bytes: 4 or 16.
struct FetchAddress: Hashable, Sendable {
    let bytes: [UInt8]

    var isVersion6: Bool { bytes.count == 16 }

    /// Reads an address as it is written; nil for names.
    init?(literal text: String) {
        var four = in_addr()
        var six = in6_addr()
        if unsafe inet_pton(AF_INET, text, &four) == 1 {
            bytes = unsafe withUnsafeBytes(of: &four) { unsafe Array($0) }
        } else if unsafe inet_pton(AF_INET6, text, &six) == 1 {
            bytes = unsafe withUnsafeBytes(of: &six) { unsafe Array($0) }
        } else {
            return nil
        }
    }

    /// The address of 4 or 16 bytes; nil for others.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = unsafe Array(bytes)
    }

    /// The address as the system writes it.
    var text: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = isVersion6 ? AF_INET6 : AF_INET
        let written = unsafe bytes.withUnsafeBytes { bytes in
            unsafe inet_ntop(family, bytes.baseAddress, &text, socklen_t(INET6_ADDRSTRLEN))
        }
        guard let written = unsafe written else { return "" }
        return unsafe String(cString: written)
    }

    /// Whether the address is public, by IANA's registries of special-purpose addresses.
    ///
    /// Not public: loopback, private, link-local, shared, multicast, unique-local, and all
    /// addresses for documentation, benchmarks or translation. An address of version 6 that
    /// contains one of version 4 never is, because a translator could lead it anywhere.
    var isGlobal: Bool {
        isVersion6 ? isGlobalVersion6 : !Self.specialVersion4.contains { contains($0) }
    }

    private struct Block {
        let start: [UInt8]
        let bits: Int
    }

    private static let specialVersion4 = [
        Block(start: [0], bits: 8), Block(start: [10], bits: 8),
        Block(start: [100, 64], bits: 10), Block(start: [127], bits: 8),
        Block(start: [169, 254], bits: 16), Block(start: [172, 16], bits: 12),
        Block(start: [192, 0, 0], bits: 24), Block(start: [192, 0, 2], bits: 24),
        Block(start: [192, 31, 196], bits: 24), Block(start: [192, 52, 193], bits: 24),
        Block(start: [192, 88, 99], bits: 24), Block(start: [192, 168], bits: 16),
        Block(start: [192, 175, 48], bits: 24), Block(start: [198, 18], bits: 15),
        Block(start: [198, 51, 100], bits: 24), Block(start: [203, 0, 113], bits: 24),
        // Multicast, and the reserved block above it.
        Block(start: [224], bits: 3),
    ]

    /// The special blocks inside 2000::/3; outside of it, nothing is global unicast.
    private static let specialVersion6 = [
        // Protocol assignments, Teredo among them; documentation; 6to4; segment routing.
        Block(start: [0x20, 0x01, 0x00], bits: 23),
        Block(start: [0x20, 0x01, 0x0D, 0xB8], bits: 32),
        Block(start: [0x20, 0x02], bits: 16),
        Block(start: [0x26, 0x20, 0x00, 0x4F, 0x80], bits: 48),
        Block(start: [0x3F, 0xFF, 0x00], bits: 20),
    ]

    private var isGlobalVersion6: Bool {
        contains(Block(start: [0x20], bits: 3))
            && !Self.specialVersion6.contains { contains($0) }
    }

    private func contains(_ block: Block) -> Bool {
        (0..<block.bits).allSatisfy { bit in
            let start = bit / 8 < block.start.count ? block.start[bit / 8] : 0
            return (start ^ bytes[bit / 8]) & (0x80 >> UInt8(bit % 8)) == 0
        }
    }
}
