/// The hash function SHA-256 (FIPS 180-4).
///
/// The toolchain has none on Linux. Names are those of the standard.
package struct SHA256 {
    private static let blockByteCount = 64

    private var hash = initial
    private var byteCount: UInt64 = 0
    /// The bytes behind the last whole block.
    private var rest: [UInt8] = []

    package init() {}

    /// The hash of `message`, 32 bytes.
    package static func digest(_ message: [UInt8]) -> [UInt8] {
        var hasher = SHA256()
        unsafe message.withUnsafeBytes { unsafe hasher.update($0) }
        return hasher.finish()
    }

    /// Adds bytes to the message.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        byteCount += UInt64(bytes.count)
        var bytes = unsafe bytes
        if !rest.isEmpty {
            let count = min(Self.blockByteCount - rest.count, bytes.count)
            unsafe rest.append(contentsOf: bytes.prefix(count))
            unsafe bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(count))
            guard rest.count == Self.blockByteCount else {
                return
            }
            unsafe rest.withUnsafeBytes { unsafe Self.compress($0, into: &hash) }
            rest = []
        }
        while bytes.count >= Self.blockByteCount {
            unsafe Self.compress(bytes, into: &hash)
            unsafe bytes = UnsafeRawBufferPointer(
                rebasing: bytes.dropFirst(Self.blockByteCount)
            )
        }
        unsafe rest.append(contentsOf: bytes)
    }

    /// The hash of the message: 32 bytes.
    ///
    /// Padded with a one bit, zeros up to a whole block, and the number of bits at its end.
    package mutating func finish() -> [UInt8] {
        let bitCount = byteCount * 8
        let zeroCount = (Self.blockByteCount * 2 - 9 - rest.count) % Self.blockByteCount
        let end =
            [0x80] + Array(repeating: 0, count: zeroCount)
            + stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: bitCount >> $0) }
        unsafe end.withUnsafeBytes { unsafe update($0) }
        return hash.flatMap { word in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> $0) } }
    }

    /// Takes the first block of the bytes.
    private static func compress(_ bytes: UnsafeRawBufferPointer, into hash: inout [UInt32]) {
        var w = InlineArray<64, UInt32>(repeating: 0)
        for t in 0..<16 {
            let word = unsafe bytes.loadUnaligned(fromByteOffset: 4 * t, as: UInt32.self)
            w[t] = UInt32(bigEndian: word)
        }
        for t in 16..<64 {
            let sigma0 = rotated(w[t - 15], 7) ^ rotated(w[t - 15], 18) ^ w[t - 15] >> 3
            let sigma1 = rotated(w[t - 2], 17) ^ rotated(w[t - 2], 19) ^ w[t - 2] >> 10
            w[t] = sigma1 &+ w[t - 7] &+ sigma0 &+ w[t - 16]
        }
        var (a, b, c, d) = (hash[0], hash[1], hash[2], hash[3])
        var (e, f, g, h) = (hash[4], hash[5], hash[6], hash[7])
        for t in 0..<64 {
            let sum1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)
            let choice = e & f ^ ~e & g
            let first = h &+ sum1 &+ choice &+ constants[t] &+ w[t]
            let sum0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)
            let majority = a & b ^ a & c ^ b & c
            (h, g, f, e) = (g, f, e, d &+ first)
            (d, c, b, a) = (c, b, a, first &+ sum0 &+ majority)
        }
        for (index, word) in [a, b, c, d, e, f, g, h].enumerated() {
            hash[index] &+= word
        }
    }

    private static func rotated(_ word: UInt32, _ bits: UInt32) -> UInt32 {
        word >> bits | word << (32 - bits)
    }

    /// The first 32 bits of the fractional parts of the square roots of the first 8 primes.
    private static let initial: [UInt32] = [
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a,
        0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
    ]

    /// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
    private static let constants: [UInt32] = [
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5,
        0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
        0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3,
        0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
        0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc,
        0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
        0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7,
        0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
        0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13,
        0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
        0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3,
        0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
        0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5,
        0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
        0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208,
        0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
    ]
}
