package import LatchkeySettings

extension PercentDecoding {
    /// The same for bytes of a request.
    package static func decode(
        _ bytes: Bytes,
        plusIsSpace: Bool = false
    ) throws(PercentDecodingError) -> [UInt8] {
        try unsafe bytes.withUnsafeBytes { (bytes) throws(PercentDecodingError) in
            try unsafe decode(bytes, plusIsSpace: plusIsSpace)
        }
    }

    /// Whether there is nothing to decode: every byte stands for itself, and all are ASCII.
    package static func isPlain(_ bytes: Bytes) -> Bool {
        bytes.allSatisfy { $0 != UInt8(ascii: "%") && $0 < 0x80 }
    }
}
