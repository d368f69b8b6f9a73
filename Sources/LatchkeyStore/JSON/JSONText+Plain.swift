/// The texts that most values are: an integer, `true`, `false`, `null`, or a string of ASCII
/// without escapes.
extension JSONText {
    /// Whether the text is of that form, without white space around it, and so is valid JSON.
    ///
    /// To ask this first is much cheaper than to make a parser.
    static func isPlain(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let first = unsafe text.first else {
            return false
        }
        return switch first {
        case UInt8(ascii: "\""): unsafe isPlainString(text)
        case UInt8(ascii: "t"): unsafe text.elementsEqual("true".utf8)
        case UInt8(ascii: "f"): unsafe text.elementsEqual("false".utf8)
        case UInt8(ascii: "n"): unsafe text.elementsEqual("null".utf8)
        default: unsafe isInteger(text)
        }
    }

    private static func isPlainString(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        let last = text.count - 1
        guard last > 0, unsafe text[last] == UInt8(ascii: "\"") else {
            return false
        }
        guard last > wordBytes else {
            return unsafe text[1..<last].allSatisfy(isPlain)
        }
        // The last word begins inside the one before, unless the words fit exactly.
        var others: UInt64 = 0
        var index = 1
        while index + wordBytes < last {
            others |= unsafe othersIn(text, at: index)
            index += wordBytes
        }
        return unsafe others | othersIn(text, at: last - wordBytes) == 0
    }

    private static var wordBytes: Int { MemoryLayout<UInt64>.size }

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte < 0x80 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    /// Looks at eight bytes at once: 0 if all are plain.
    ///
    /// By the tests for a zero byte and for a byte that is less (S. E. Anderson, *Bit Twiddling
    /// Hacks*). A borrow can only come from a byte that is not plain either.
    @inline(__always)
    private static func othersIn(_ text: UnsafeBufferPointer<UInt8>, at index: Int) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let word = unsafe UnsafeRawBufferPointer(text).loadUnaligned(
            fromByteOffset: index,
            as: UInt64.self
        )
        let quotes = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
        let backslashes = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
        let controls = (word &- (ones &* 0x20)) & ~word
        let zeros = ((quotes &- ones) & ~quotes) | ((backslashes &- ones) & ~backslashes)
        return (word | controls | zeros) & (ones &* 0x80)
    }

    private static func isInteger(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        let start = unsafe text[0] == UInt8(ascii: "-") ? 1 : 0
        guard start < text.count, unsafe text[start] != UInt8(ascii: "0") || text.count == start + 1
        else {
            return false
        }
        for index in start..<text.count {
            guard case UInt8(ascii: "0")...UInt8(ascii: "9") = unsafe text[index] else {
                return false
            }
        }
        return true
    }
}
