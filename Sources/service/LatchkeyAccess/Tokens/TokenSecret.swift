internal import Foundation
package import LatchkeyFrame

/// The text by which a client identifies itself: `lk_`, 256 random bits, and a checksum, in
/// hexadecimal digits.
///
/// 256 random bits cannot be guessed, so a fast hash of them is safe to store. The checksum and the
/// beginning tell a mistyped token from a wrong one, and let scanners of source code find tokens
/// that were published by mistake.
package enum TokenSecret {
    private static let start = "lk_"
    private static let randomByteCount = 32
    private static let checksumByteCount = 4
    /// The length of a token.
    package static let byteCount = start.utf8.count + 2 * (randomByteCount + checksumByteCount)

    /// Makes a new token, which no other client has.
    package static func make() -> String {
        // The system's generator is one for cryptography.
        var random = SystemRandomNumberGenerator()
        let bytes = (0..<randomByteCount).map { _ in UInt8.random(in: .min ... .max, using: &random)
        }
        let body = start + Hexadecimal.text(bytes)
        return body + checksum(body)
    }

    /// Whether the text is a whole token, valid or not.
    package static func isWhole(_ text: String) -> Bool {
        guard text.utf8.count == byteCount, text.hasPrefix(start) else { return false }
        let body = String(text.dropLast(2 * checksumByteCount))
        return body + checksum(body) == text
    }

    /// The stored form of a token.
    package static func digest(_ secret: String) -> SHA256Digest {
        SHA256.digest(Array(secret.utf8))
    }

    private static func checksum(_ body: String) -> String {
        Hexadecimal.text(digest(body).bytes.prefix(checksumByteCount))
    }
}

/// Bytes as hexadecimal digits, in lower case.
package enum Hexadecimal {
    package static func text(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { String(format: "%02x", $0) }.joined()
    }

    /// The bytes; nil if the text is not pairs of digits.
    package static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        let digits = text.utf8.map { Character(UnicodeScalar($0)).hexDigitValue }
        guard digits.count.isMultiple(of: 2), !digits.contains(nil) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { index in
            UInt8((digits[index] ?? 0) << 4 | (digits[index + 1] ?? 0))
        }
    }
}
