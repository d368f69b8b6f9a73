internal import LatchkeySettings

extension PropertyName {
    /// Reads a prefix of names from a text in which it is percent-encoded, as in a path.
    ///
    /// - Returns: Its bytes; nil if they are not a valid name, or the text is malformed.
    package static func prefix(percentEncoded text: Substring) -> [UInt8]? {
        try? unsafe Array(text.utf8).withUnsafeBytes { encoded in
            let bytes = try unsafe PercentDecoding.decode(encoded)
            try unsafe bytes.withUnsafeBytes { try unsafe check($0) }
            return bytes
        }
    }
}
