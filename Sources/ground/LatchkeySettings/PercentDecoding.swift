/// An error in a percent-encoded text.
package enum PercentDecodingError: Error, Equatable, Sendable {
    /// A `%` without two hexadecimal digits after it.
    case truncatedEscape
    /// The bytes are not UTF-8.
    case invalidText
}

/// Strict percent-decoding (RFC 3986, 2.1).
///
/// Nothing is repaired: an escape that is not one, and bytes that are not UTF-8 once decoded, are
/// errors. Any byte can be written as an escape, `%2F` and `%00` too; the caller decides which
/// names are valid.
package enum PercentDecoding {
    /// Decodes into bytes that are valid UTF-8.
    ///
    /// - Parameters:
    ///   - bytes: as they were sent.
    ///   - plusIsSpace: as in queries. In paths, `+` is a plus sign.
    /// - Returns: the decoded bytes.
    /// - Throws: their error.
    package static func decode(
        _ bytes: UnsafeRawBufferPointer,
        plusIsSpace: Bool = false
    ) throws(PercentDecodingError) -> [UInt8] {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var isASCII = true
        var index = 0
        while index < bytes.count {
            var byte = unsafe bytes[index]
            if byte == percent {
                guard index + 2 < bytes.count,
                    let high = unsafe hexadecimal(bytes[index + 1]),
                    let low = unsafe hexadecimal(bytes[index + 2])
                else { throw .truncatedEscape }
                byte = high << 4 | low
                index += 2
            } else if byte == plus && plusIsSpace {
                byte = 0x20
            }
            isASCII = isASCII && byte < 0x80
            decoded.append(byte)
            index += 1
        }
        // Empty and short ASCII texts, the usual case, need no check.
        guard isASCII || String(validating: decoded, as: UTF8.self) != nil else {
            throw .invalidText
        }
        return decoded
    }

    private static let percent = UInt8(ascii: "%")
    private static let plus = UInt8(ascii: "+")

    private static func hexadecimal(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
