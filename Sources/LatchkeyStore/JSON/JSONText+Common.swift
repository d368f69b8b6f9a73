/// Texts that a quick reader knows to be valid, which are nearly all that clients send.
extension JSONText {
    /// Whether the text is one that needs no closer look, and so is valid JSON.
    ///
    /// False says nothing: the text has `\u`, nests deeper than a word has bits, or is not valid.
    /// YAJL decides then, and finds the place of the error. To ask this first takes a fraction of
    /// YAJL's time, which looks at each byte of a string.
    static func isCommon(_ text: UnsafeBufferPointer<UInt8>, depthMax: Int) -> Bool {
        var scan = unsafe CommonScan(text, depthMax: depthMax)
        guard scan.isText() else {
            return false
        }
        guard scan.hasOtherThanASCII else {
            return true
        }
        return unsafe (try? UTF8Span(validating: text.span)) != nil
    }
}

/// Reads a text from its beginning.
///
/// SAFETY: `@safe` because every access is below `count`, and the maker keeps the text in place.
@safe
private struct CommonScan {
    private let text: UnsafeRawBufferPointer
    private let depthMax: Int
    private var index = 0
    private var depth = 0
    /// A bit for each open container, the innermost lowest: set for an object.
    private var objects: UInt64 = 0
    /// Whether strings may have characters that are not ASCII: then they are still to be checked.
    private(set) var hasOtherThanASCII = false

    init(_ text: UnsafeBufferPointer<UInt8>, depthMax: Int) {
        unsafe self.text = UnsafeRawBufferPointer(text)
        self.depthMax = min(depthMax, UInt64.bitWidth)
    }

    /// The byte at the index behind white space; 0 at the end, which is in no valid text.
    private mutating func token() -> UInt8 {
        while unsafe index < text.count {
            let byte = unsafe text[index]
            guard JSONScan.isWhitespace(byte) else {
                return byte
            }
            index += 1
        }
        return 0
    }

    /// The byte at the index; 0 at the end.
    private var byte: UInt8 { unsafe index < text.count ? text[index] : 0 }

    mutating func isText() -> Bool {
        while true {
            var isOpened = false
            switch token() {
            case UInt8(ascii: "{"):
                guard open(isObject: true) else { return false }
                isOpened = true
            case UInt8(ascii: "["):
                guard open(isObject: false) else { return false }
                isOpened = true
            case UInt8(ascii: "\""):
                guard string() else { return false }
            case UInt8(ascii: "t"):
                guard word("true") else { return false }
            case UInt8(ascii: "f"):
                guard word("false") else { return false }
            case UInt8(ascii: "n"):
                guard word("null") else { return false }
            default:
                guard number() else { return false }
            }
            switch isOpened ? first() : next() {
            case .value: continue
            case .end: return true
            case .unknown: return false
            }
        }
    }

    private enum Next {
        /// A value begins.
        case value
        /// The text is over.
        case end
        case unknown
    }

    private mutating func open(isObject: Bool) -> Bool {
        index += 1
        depth += 1
        objects = objects << 1 | (isObject ? 1 : 0)
        return depth <= depthMax
    }

    private mutating func close() {
        index += 1
        depth -= 1
        objects >>= 1
    }

    private var isInObject: Bool { objects & 1 == 1 }

    /// What follows the bracket that opens a container.
    private mutating func first() -> Next {
        let closing = UInt8(ascii: isInObject ? "}" : "]")
        guard token() == closing else {
            return isInObject && !name() ? .unknown : .value
        }
        close()
        return next()
    }

    /// What follows a value.
    private mutating func next() -> Next {
        while depth > 0 {
            switch token() {
            case UInt8(ascii: ","):
                index += 1
                return isInObject && !name() ? .unknown : .value
            case UInt8(ascii: "}") where isInObject, UInt8(ascii: "]") where !isInObject:
                close()
            default:
                return .unknown
            }
        }
        _ = token()
        return unsafe index == text.count ? .end : .unknown
    }

    /// Passes over the name of a member and the colon behind it.
    private mutating func name() -> Bool {
        guard token() == UInt8(ascii: "\""), string(), token() == UInt8(ascii: ":") else {
            return false
        }
        index += 1
        return true
    }

    private mutating func word(_ word: StaticString) -> Bool {
        let count = word.utf8CodeUnitCount
        guard unsafe index + count <= text.count else {
            return false
        }
        let bytes = unsafe UnsafeRawBufferPointer(start: word.utf8Start, count: count)
        guard
            unsafe UnsafeRawBufferPointer(rebasing: text[index..<(index + count)]).equals(bytes)
        else {
            return false
        }
        index += count
        return true
    }

    /// Passes over digits, of which there must be one.
    private mutating func digits() -> Bool {
        let start = index
        while byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") {
            index += 1
        }
        return index > start
    }

    private mutating func number() -> Bool {
        if byte == UInt8(ascii: "-") {
            index += 1
        }
        if byte == UInt8(ascii: "0") {
            index += 1
        } else if !digits() {
            return false
        }
        if byte == UInt8(ascii: ".") {
            index += 1
            guard digits() else { return false }
        }
        if byte | 0x20 == UInt8(ascii: "e") {
            index += 1
            if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") {
                index += 1
            }
            return digits()
        }
        return true
    }

    /// Passes over a string, eight bytes at a time.
    private mutating func string() -> Bool {
        index += 1
        var others: UInt64 = 0
        defer { hasOtherThanASCII = hasOtherThanASCII || others & Self.highest != 0 }
        while unsafe index < text.count {
            if unsafe index + 8 <= text.count {
                let word = UInt64(
                    littleEndian: unsafe text.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                )
                others |= word
                let found = Self.special(word)
                guard found != 0 else {
                    index += 8
                    continue
                }
                index += found.trailingZeroBitCount / 8
            }
            let byte = unsafe text[index]
            index += 1
            switch byte {
            case UInt8(ascii: "\""):
                return true
            case UInt8(ascii: "\\"):
                guard escape() else { return false }
            case ..<0x20:
                return false
            default:
                others |= UInt64(byte)
            }
        }
        return false
    }

    /// Passes over the character behind a backslash; not one by its number.
    private mutating func escape() -> Bool {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
            UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            index += 1
            return true
        default:
            return false
        }
    }

    private static var ones: UInt64 { 0x0101_0101_0101_0101 }
    private static var highest: UInt64 { 0x8080_8080_8080_8080 }

    /// Marks the lowest byte that is a quote, a backslash or a control character.
    ///
    /// Higher marks can be wrong, as in ``JSONScan``.
    @inline(__always)
    private static func special(_ word: UInt64) -> UInt64 {
        let quotes = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
        let backslashes = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
        let zeros = ((quotes &- ones) & ~quotes) | ((backslashes &- ones) & ~backslashes)
        return (zeros | ((word &- (ones &* 0x20)) & ~word)) & highest
    }
}
