extension SeededGenerator {
    /// Parts that decoders of texts get wrong.
    public static let texts: [[UInt8]] = [
        "-1", "0", "1e999", "9223372036854775807", "-9223372036854775808", "18446744073709551616",
        "\"\"", "{}", "[]", "null", "{", "[", "\"", "\\", "\n", "\u{1}",
    ].map { Array($0.utf8) }

    /// Numbers that decoders of bytes get wrong: varints, and bytes alone.
    public static let numbers: [[UInt8]] = [
        [0], [1], [0x7F], [0x80], [0xFF], [0xFF, 0x7F],
        [0xFF, 0xFF, 0xFF, 0xFF, 0x0F],
        [UInt8](repeating: 0xFF, count: 8) + [0x7F], [UInt8](repeating: 0xFF, count: 9) + [1],
    ]

    /// The bytes with one to four changes: bits, parts that are removed, doubled or moved, parts of
    /// a list that come in, or an end that is cut off.
    public mutating func mutated(_ bytes: [UInt8], _ parts: [[UInt8]]) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...4, using: &self) where !bytes.isEmpty {
            let start = Int.random(in: 0..<bytes.count, using: &self)
            let end = min(bytes.count, start + Int.random(in: 1...12, using: &self))
            switch Int.random(in: 0..<8, using: &self) {
            case 0, 1: bytes[start] ^= 1 << UInt8.random(in: 0..<8, using: &self)
            case 2: bytes.removeSubrange(start..<end)
            case 3: bytes.insert(contentsOf: Array(bytes[start..<end]), at: start)
            case 4:
                let part = Array(bytes[start..<end])
                bytes.removeSubrange(start..<end)
                bytes.insert(
                    contentsOf: part,
                    at: Int.random(in: 0...bytes.count, using: &self)
                )
            case 5:
                if Int.random(in: 0..<4, using: &self) == 0 { bytes.removeSubrange(start...) }
            case _:
                let part = parts.randomElement(using: &self) ?? []
                let last = Bool.random(using: &self) ? start : end
                bytes.replaceSubrange(start..<last, with: part)
            }
        }
        return bytes
    }
}
