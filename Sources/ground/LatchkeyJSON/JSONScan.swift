/// Finds where the parts of a valid JSON text end.
///
/// Nothing is checked again: on a text that `JSONText.check` refuses, a scan can leave the text.
/// No function recurses, so the stack does not limit nesting.
enum JSONScan {
    static func isWhitespace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }

    /// The first byte from `start` on that is neither white space nor a comma nor a colon.
    static func nextToken(_ text: UnsafeRawBufferPointer, _ start: Int) -> Int {
        var index = start
        while index < text.count {
            let byte = unsafe text[index]
            guard
                isWhitespace(byte) || byte == UInt8(ascii: ",") || byte == UInt8(ascii: ":")
            else {
                break
            }
            index += 1
        }
        return index
    }

    /// Where the value ends that begins at `start`.
    static func valueEnd(_ text: UnsafeRawBufferPointer, _ start: Int) -> Int {
        switch unsafe text[start] {
        case UInt8(ascii: "\""): unsafe stringEnd(text, start)
        case UInt8(ascii: "{"), UInt8(ascii: "["): unsafe containerEnd(text, start)
        default: unsafe scalarEnd(text, start)
        }
    }

    /// Where the string ends whose first quote is at `start`.
    ///
    /// Eight bytes at a time: long strings are most of what a scan passes over.
    static func stringEnd(_ text: UnsafeRawBufferPointer, _ start: Int) -> Int {
        var index = start + 1
        while index + 8 <= text.count {
            let word = UInt64(
                littleEndian: unsafe text.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            )
            let found = stringEnds(word)
            guard found != 0 else {
                index += 8
                continue
            }
            index += found.trailingZeroBitCount / 8
            if unsafe text[index] == UInt8(ascii: "\"") {
                return index + 1
            }
            // The byte after a backslash never ends the string.
            index += 2
        }
        while unsafe text[index] != UInt8(ascii: "\"") {
            index += unsafe text[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        return index + 1
    }

    /// Where the number or the word ends that begins at `start`.
    static func scalarEnd(_ text: UnsafeRawBufferPointer, _ start: Int) -> Int {
        var index = start + 1
        while index < text.count {
            let byte = unsafe text[index]
            guard
                !isWhitespace(byte), byte != UInt8(ascii: ","), byte != UInt8(ascii: "]"),
                byte != UInt8(ascii: "}")
            else {
                break
            }
            index += 1
        }
        return index
    }

    private static func containerEnd(_ text: UnsafeRawBufferPointer, _ start: Int) -> Int {
        var index = start + 1
        var depth = 1
        while depth > 0 {
            switch unsafe text[index] {
            case UInt8(ascii: "\""):
                index = unsafe stringEnd(text, index)
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
            default:
                break
            }
            index += 1
        }
        return index
    }

    /// Marks the lowest byte that is a quote or a backslash.
    ///
    /// Bytes above the lowest such byte can be marked wrongly (Warren, *Hacker's Delight*,
    /// section 6-1), so only the lowest mark is valid.
    @inline(__always)
    static func stringEnds(_ word: UInt64) -> UInt64 {
        let quotes = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
        let backslashes = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
        return ((quotes &- ones) | (backslashes &- ones)) & ~word & highestBits
    }

    /// Marks the lowest control character too.
    @inline(__always)
    static func stringEndsAndControls(_ word: UInt64) -> UInt64 {
        stringEnds(word) | ((word &- (ones &* 0x20)) & ~word & highestBits)
    }

    private static var ones: UInt64 { 0x0101_0101_0101_0101 }
    static var highestBits: UInt64 { 0x8080_8080_8080_8080 }
}
