internal import Glibc

extension JSONView {
    /// The bytes between the quotes, as they were sent.
    package var stringContent: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: bytes[1..<(bytes.count - 1)])
    }

    /// Whether a string has escapes, so that its bytes are not its text.
    package var hasEscapes: Bool {
        guard let start = unsafe bytes.baseAddress else {
            return false
        }
        return unsafe memchr(start, Int32(UInt8(ascii: "\\")), bytes.count) != nil
    }

    /// The text of a string that has no escapes.
    ///
    /// Nil if the value is no string, or has escapes: then ``unescaped()`` copies the text.
    package var plainString: UnsafeRawBufferPointer? {
        guard kind == .string, !hasEscapes else {
            return nil
        }
        return unsafe stringContent
    }

    /// A copy of a string's text in UTF-8, or nil if the value is no string.
    ///
    /// An escaped surrogate without its other half becomes the three bytes that UTF-8 would have
    /// for it. They are not valid UTF-8: a check of UTF-8 refuses such a string, and no other
    /// string has the same bytes.
    package func unescaped() -> [UInt8]? {
        guard kind == .string else {
            return nil
        }
        var text: [UInt8] = []
        unsafe text.reserveCapacity(stringContent.count)
        var bytes = UnescapedBytes(self)
        while let byte = bytes.next() {
            text.append(byte)
        }
        return text
    }

    /// A copy of a string's text.
    ///
    /// Nil if the value is no string, or has a surrogate without its other half.
    package var string: String? {
        guard kind == .string else {
            return nil
        }
        if let plain = unsafe plainString {
            return unsafe String(validating: plain, as: UTF8.self)
        }
        return unescaped().flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// Whether the value is the string with this text.
    package func isString(_ expected: StaticString) -> Bool {
        let raw = unsafe bytes.count - 2
        guard kind == .string, raw >= expected.utf8CodeUnitCount else {
            return false
        }
        // An escape is longer than its character.
        guard raw > expected.utf8CodeUnitCount else {
            return unsafe stringContent.equals(UnsafeRawBufferPointer(expected))
        }
        let text = unsafe UnsafeRawBufferPointer(expected)
        return unsafe hasEscapes && UnescapedBytes(self).elementsEqual(text)
    }

    /// Whether two strings have the same text, however it is escaped.
    func equalsString(_ other: JSONView) -> Bool {
        guard hasEscapes || other.hasEscapes else {
            return unsafe bytes.equals(other.bytes)
        }
        return UnescapedBytes(self).elementsEqual(UnescapedBytes(other))
    }

    /// Whether the text of a string sorts before that of another one, byte by byte.
    func stringPrecedes(_ other: JSONView) -> Bool {
        UnescapedBytes(self).lexicographicallyPrecedes(UnescapedBytes(other))
    }
}

/// The text of a string, byte by byte.
///
/// SAFETY: `@safe` because it reads what the view may read.
@safe
private struct UnescapedBytes: Sequence, IteratorProtocol {
    private let content: UnsafeRawBufferPointer
    private var index = 0
    /// The rest of a character that was escaped, from the lowest byte on.
    private var pending: UInt32 = 0

    init(_ string: JSONView) {
        unsafe content = string.stringContent
    }

    mutating func next() -> UInt8? {
        if pending != 0 {
            defer { pending >>= 8 }
            return UInt8(truncatingIfNeeded: pending)
        }
        guard unsafe index < content.count else {
            return nil
        }
        let byte = unsafe content[index]
        index += 1
        guard byte == UInt8(ascii: "\\") else {
            return byte
        }
        let escape = unsafe content[index]
        index += 1
        switch escape {
        case UInt8(ascii: "b"): return 0x08
        case UInt8(ascii: "f"): return 0x0C
        case UInt8(ascii: "n"): return 0x0A
        case UInt8(ascii: "r"): return 0x0D
        case UInt8(ascii: "t"): return 0x09
        case UInt8(ascii: "u"): return first(of: character())
        default: return escape
        }
    }

    /// The character whose four digits begin at the index, with the second half of a pair.
    private mutating func character() -> UInt32 {
        let unit = unit(at: index)
        index += 4
        guard
            (0xD800...0xDBFF).contains(unit), unsafe index + 6 <= content.count,
            unsafe content[index] == UInt8(ascii: "\\"),
            unsafe content[index + 1] == UInt8(ascii: "u")
        else {
            return unit
        }
        let low = self.unit(at: index + 2)
        guard (0xDC00...0xDFFF).contains(low) else {
            return unit
        }
        index += 6
        return 0x1_0000 + (unit - 0xD800) << 10 + (low - 0xDC00)
    }

    private func unit(at start: Int) -> UInt32 {
        var unit: UInt32 = 0
        for position in start..<(start + 4) {
            let byte = unsafe content[position]
            // A letter, in either case, is 9 more than its low four bits.
            let digit = (byte & 0x0F) + (byte > UInt8(ascii: "9") ? 9 : 0)
            unit = unit << 4 + UInt32(digit)
        }
        return unit
    }

    /// Keeps the bytes of a character after the first, which it returns.
    private mutating func first(of character: UInt32) -> UInt8 {
        func continuation(_ shift: UInt32) -> UInt32 {
            0x80 | character >> shift & 0x3F
        }
        switch character {
        case ..<0x80:
            return UInt8(character)
        case ..<0x800:
            pending = continuation(0)
            return UInt8(0xC0 | character >> 6)
        case ..<0x1_0000:
            pending = continuation(6) | continuation(0) << 8
            return UInt8(0xE0 | character >> 12)
        default:
            pending = continuation(12) | continuation(6) << 8 | continuation(0) << 16
            return UInt8(0xF0 | character >> 18)
        }
    }
}
