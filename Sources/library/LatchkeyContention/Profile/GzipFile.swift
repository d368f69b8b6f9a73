/// A gzip file (RFC 1952) whose data are not compressed.
///
/// A profile is small, and read once by a tool that wants gzip. Stored blocks are valid and need no
/// library.
enum GzipFile {
    private static let blockByteCountMax = 0xFFFF

    static func bytes(_ data: [UInt8]) -> [UInt8] {
        // No name, no time, an unknown system.
        var file: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF]
        var rest = data[...]
        repeat {
            let block = rest.prefix(blockByteCountMax)
            rest = rest.dropFirst(block.count)
            let length = UInt16(block.count)
            // RFC 1951 section 3.2.4: the last block's mark, the length, and its complement.
            file.append(rest.isEmpty ? 1 : 0)
            append(length, to: &file)
            append(~length, to: &file)
            file += block
        } while !rest.isEmpty
        append(checksum(data), to: &file)
        append(UInt32(truncatingIfNeeded: data.count), to: &file)
        return file
    }

    private static func append(_ number: some FixedWidthInteger, to file: inout [UInt8]) {
        for shift in stride(from: 0, to: number.bitWidth, by: 8) {
            file.append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }

    /// The CRC-32 of RFC 1952 section 8.
    static func checksum(_ data: [UInt8]) -> UInt32 {
        ~data.reduce(~0) { sum, byte in
            table[Int(UInt8(truncatingIfNeeded: sum) ^ byte)] ^ sum >> 8
        }
    }

    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(byte) { sum, _ in
            sum & 1 == 1 ? 0xEDB8_8320 ^ sum >> 1 : sum >> 1
        }
    }
}
