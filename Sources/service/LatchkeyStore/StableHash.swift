/// A hash that is the same in every process: FNV-1a of 64 bits
/// (http://www.isthe.com/chongo/tech/comp/fnv/), whose bits are mixed at the end, so that sums of
/// hashes differ, too.
package struct StableHash: Sendable {
    private var hash: UInt64 = 0xCBF2_9CE4_8422_2325

    package init() {}

    /// Adds a number as eight bytes, the lowest first.
    package mutating func add(_ number: UInt64) {
        for shift in stride(from: 0, to: 64, by: 8) {
            add(UInt8(truncatingIfNeeded: number >> UInt64(shift)))
        }
    }

    package mutating func add(_ bytes: UnsafeRawBufferPointer) {
        for index in bytes.indices { add(unsafe bytes[index]) }
    }

    private mutating func add(_ byte: UInt8) {
        hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
    }

    package var value: UInt64 {
        let mixed = (hash ^ (hash >> 30)) &* 0xBF58_476D_1CE4_E5B9
        return mixed ^ (mixed >> 31)
    }
}
