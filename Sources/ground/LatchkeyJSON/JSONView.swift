/// One value inside a valid JSON text, without a copy.
///
/// A view borrows the text: the maker of the first view keeps the text in place, and unchanged,
/// while it or a view made from it is used. The text must have passed `JSONText.check`.
///
/// Nothing here allocates or recurses, except what says so. Iterating over an object or an array
/// scans it once; its values are scanned again when they are iterated. Algorithms that walk a whole
/// text use ``JSONOutline`` instead.
///
/// SAFETY: `@safe` and `@unchecked Sendable` because the bytes are only read, and the maker keeps
/// them in place.
@safe
package struct JSONView: @unchecked Sendable {
    /// The bytes of the value, without the white space around it.
    package let bytes: UnsafeRawBufferPointer

    /// The value of a whole text.
    package init(_ validText: UnsafeRawBufferPointer) {
        var start = 0
        var end = validText.count
        while start < end, JSONScan.isWhitespace(unsafe validText[start]) {
            start += 1
        }
        while end > start, JSONScan.isWhitespace(unsafe validText[end - 1]) {
            end -= 1
        }
        precondition(start < end, "A view is made of a JSON text that has been checked.")
        unsafe bytes = UnsafeRawBufferPointer(rebasing: validText[start..<end])
    }

    /// The value that occupies these bytes of a text.
    init(_ text: UnsafeRawBufferPointer, _ start: Int, _ end: Int) {
        unsafe bytes = UnsafeRawBufferPointer(rebasing: text[start..<end])
    }

    /// The types of JSON.
    package enum Kind: Sendable {
        case object
        case array
        case string
        case number
        case boolean
        case null

        /// The first byte of a value tells.
        init(firstByte byte: UInt8) {
            switch byte {
            case UInt8(ascii: "{"): self = .object
            case UInt8(ascii: "["): self = .array
            case UInt8(ascii: "\""): self = .string
            case UInt8(ascii: "t"), UInt8(ascii: "f"): self = .boolean
            case UInt8(ascii: "n"): self = .null
            default: self = .number
            }
        }
    }

    package var kind: Kind { Kind(firstByte: unsafe bytes[0]) }

    /// True or false, or nil if the value is something else.
    package var boolean: Bool? {
        kind == .boolean ? unsafe bytes[0] == UInt8(ascii: "t") : nil
    }

    /// The number, if it is whole and has at most 64 bits.
    ///
    /// The spelling does not matter: `7`, `7.0` and `70e-1` are the same integer.
    package var integer: Int64? {
        integer(timesTenTo: 0)
    }

    /// The number as the nearest one that a binary fraction can be.
    package var double: Double? {
        kind == .number ? Double(unsafe String(decoding: bytes, as: UTF8.self)) : nil
    }

    /// The number times a power of ten, if that is whole and has at most 64 bits.
    ///
    /// So seconds with up to three digits after the point are read as milliseconds with a power of
    /// 3. Nothing is rounded.
    package func integer(timesTenTo power: Int) -> Int64? {
        guard kind == .number else {
            return nil
        }
        return unsafe JSONDecimal(bytes).integer(timesTenTo: power)
    }

    /// The members of an object, in their order and with their duplicates.
    ///
    /// Empty if the value is not an object.
    package var members: Members {
        Members(self)
    }

    /// The elements of an array.
    ///
    /// Empty if the value is not an array.
    package var elements: Elements {
        Elements(self)
    }

    /// The members of an object.
    package struct Members: Sequence, IteratorProtocol {
        /// In the object; nil after it.
        private var cursor: JSONCursor?

        fileprivate init(_ value: JSONView) {
            cursor = value.kind == .object ? JSONCursor(value) : nil
            cursor?.enter()
        }

        package mutating func next() -> (name: JSONView, value: JSONView)? {
            guard let name = cursor?.nextName(), let value = cursor?.value() else {
                cursor = nil
                return nil
            }
            return (name, value)
        }
    }

    /// The elements of an array.
    package struct Elements: Sequence, IteratorProtocol {
        /// In the array; nil after it.
        private var cursor: JSONCursor?

        fileprivate init(_ value: JSONView) {
            cursor = value.kind == .array ? JSONCursor(value) : nil
            cursor?.enter()
        }

        package mutating func next() -> JSONView? {
            guard cursor?.nextElement() == true else {
                cursor = nil
                return nil
            }
            return cursor?.value()
        }
    }
}
