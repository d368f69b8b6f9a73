internal import LatchkeyHTTP

/// The parts of a `Content-Type` that tell media types apart, as bytes of the field.
///
/// Every write has one, so it is compared byte by byte: no string is made of it. The case of ASCII
/// letters does not matter.
struct ContentType {
    /// Type and subtype, without white space around them.
    let type: Bytes
    /// Whether a parameter names another charset than UTF-8.
    let hasOtherCharset: Bool

    /// Reads a field: a type, and parameters after semicolons.
    init(_ field: Bytes) {
        let end = field.firstIndex(of: Self.semicolon) ?? field.count
        type = Self.trimmed(field, 0, end)
        var hasOtherCharset = false
        var start = end + 1
        while start < field.count {
            let parameters = field.range(start, field.count)
            let next = start + (parameters.firstIndex(of: Self.semicolon) ?? parameters.count)
            let parameter = Self.trimmed(field, start, next)
            if Self.begins(parameter, with: "charset="),
                !Self.equals(parameter, "charset=utf-8"),
                !Self.equals(parameter, "charset=\"utf-8\"")
            {
                hasOtherCharset = true
            }
            start = next + 1
        }
        self.hasOtherCharset = hasOtherCharset
    }

    /// Whether the type is this one, which is written in lower case.
    func isType(_ name: StaticString) -> Bool {
        Self.equals(type, name)
    }

    /// Whether the subtype has the suffix `+json` and something before it (RFC 6839).
    var hasJSONSuffix: Bool {
        let suffix: StaticString = "+json"
        guard let slash = type.firstIndex(of: UInt8(ascii: "/")), slash > 0 else {
            return false
        }
        let subtype = type.range(slash + 1, type.count)
        let start = subtype.count - suffix.utf8CodeUnitCount
        return start > 0 && Self.equals(subtype.range(start, subtype.count), suffix)
            && !subtype.contains(UInt8(ascii: "/"))
    }

    private static var semicolon: UInt8 { UInt8(ascii: ";") }

    /// The bytes from `start` to `end` without spaces and tabs at their ends.
    private static func trimmed(_ field: Bytes, _ start: Int, _ end: Int) -> Bytes {
        func isSpace(_ index: Int) -> Bool {
            field[index] == 0x20 || field[index] == 0x09
        }
        var (start, end) = (start, end)
        while start < end, isSpace(start) {
            start += 1
        }
        while end > start, isSpace(end - 1) {
            end -= 1
        }
        return field.range(start, end)
    }

    private static func equals(_ bytes: Bytes, _ name: StaticString) -> Bool {
        bytes.count == name.utf8CodeUnitCount && begins(bytes, with: name)
    }

    private static func begins(_ bytes: Bytes, with name: StaticString) -> Bool {
        let name = Bytes(name)
        guard bytes.count >= name.count else {
            return false
        }
        for index in 0..<name.count {
            let byte = bytes[index]
            let isCapital = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z")
            guard (isCapital ? byte | 0x20 : byte) == name[index] else {
                return false
            }
        }
        return true
    }
}
