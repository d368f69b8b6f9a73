/// Writes numbers and bytes, as ``BinaryReader`` reads them.
package struct BinaryWriter {
    package var bytes: [UInt8] = []

    package init() {}

    /// Appends a number as a varint.
    package mutating func add(_ number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    /// Appends the length of the bytes, then the bytes.
    package mutating func add(_ content: UnsafeRawBufferPointer) {
        add(UInt64(content.count))
        unsafe bytes.append(contentsOf: content)
    }
}

/// Reads numbers and bytes out of memory that the results keep alive.
package struct BinaryReader {
    package let owner: OwnedBytes
    private var offset = 0

    package init(_ owner: OwnedBytes) {
        self.owner = owner
    }

    /// Whether all was read.
    package var isAtEnd: Bool { unsafe offset == owner.bytes.count }

    /// Reads a byte.
    package mutating func byte() throws(InvalidChange) -> UInt8 {
        guard !isAtEnd else {
            throw InvalidChange()
        }
        defer { offset += 1 }
        return unsafe owner.bytes[offset]
    }

    /// Reads a varint.
    package mutating func number() throws(InvalidChange) -> UInt64 {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            let byte = try byte()
            let bits = UInt64(byte & 0x7F)
            guard (bits << shift) >> shift == bits, byte != 0 || shift == 0 else {
                throw InvalidChange()
            }
            number |= bits << shift
            if byte < 0x80 {
                return number
            }
        }
        throw InvalidChange()
    }

    /// Reads a length and so many bytes, in the owner's memory.
    package mutating func bytes() throws(InvalidChange) -> UnsafeRawBufferPointer {
        let count = try number()
        guard unsafe count <= UInt64(owner.bytes.count - offset) else {
            throw InvalidChange()
        }
        defer { offset += Int(count) }
        return unsafe UnsafeRawBufferPointer(rebasing: owner.bytes[offset..<offset + Int(count)])
    }

    /// Reads a byte that is 0 or 1.
    package mutating func flag() throws(InvalidChange) -> Bool {
        let flag = try byte()
        guard flag <= 1 else {
            throw InvalidChange()
        }
        return flag == 1
    }

    /// Reads a varint that is a count.
    package mutating func count() throws(InvalidChange) -> Int {
        guard let count = Int(exactly: try number()) else {
            throw InvalidChange()
        }
        return count
    }
}
