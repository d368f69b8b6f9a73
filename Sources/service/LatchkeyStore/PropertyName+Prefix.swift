extension PropertyName {
    /// Reads what names can begin with from a text in which it is percent-encoded, as in a path.
    ///
    /// - Returns: Its bytes; nil if they are none, no text, or too many, or the text is malformed.
    package static func prefix(percentEncoded text: Substring) -> [UInt8]? {
        guard let bytes = decoded(text) else { return nil }
        let owner = OwnedBytes(bytes)
        do throws(InvalidName) {
            try unsafe check(owner.bytes)
            return bytes
        } catch {
            return nil
        }
    }

    private static func decoded(_ text: Substring) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit),
                let low = rest.popFirst().flatMap(digit)
            else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        Character(UnicodeScalar(byte)).hexDigitValue.map { UInt8($0) }
    }
}
