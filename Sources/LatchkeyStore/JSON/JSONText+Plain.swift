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
        // To the end even if the answer is known: the loop becomes vector instructions.
        var others: UInt8 = 0
        for index in 1..<last {
            let byte = unsafe text[index]
            let isOther =
                byte < 0x20 || byte >= 0x80 || byte == UInt8(ascii: "\"")
                || byte == UInt8(ascii: "\\")
            others |= isOther ? 1 : 0
        }
        return others == 0
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
