internal import LatchkeySettings

extension PropertyName {
    /// Reads what names can begin with from a text in which it is percent-encoded, as in a path.
    ///
    /// - Returns: Its bytes; nil if they are none, no text, or too many, or the text is malformed.
    package static func prefix(percentEncoded text: Substring) -> [UInt8]? {
        try? unsafe Array(text.utf8).withUnsafeBytes { encoded in
            let bytes = try unsafe PercentDecoding.decode(encoded)
            try unsafe bytes.withUnsafeBytes { try unsafe check($0) }
            return bytes
        }
    }
}
