package import LatchkeyFrame

/// One line of a token file: `NAME sha256:DIGEST GRANT…`.
///
/// The file has no secrets: a token cannot be made from its digest.
package struct TokenLine: Hashable, Sendable {
    private static let digestStart = "sha256:"
    private static let nameCountMax = 64

    /// The holder of the token, for logs, shares and operations.
    package let name: String
    package let digest: SHA256Digest
    package let grants: Grants

    /// The line for a new token.
    ///
    /// - Returns: The token and the line. The token is nowhere else.
    package static func make(
        _ name: String,
        _ grants: [String]
    ) throws(InvalidTokenLine) -> (secret: String, line: String) {
        guard isName(name) else { throw invalidName }
        let secret = TokenSecret.make()
        let digest = Hexadecimal.text(TokenSecret.digest(secret).bytes)
        let line = ([name, digestStart + digest] + grants).joined(separator: " ")
        _ = try TokenLine(line)
        return (secret, line)
    }

    /// Reads a line that is neither empty nor a comment.
    package init(_ line: String) throws(InvalidTokenLine) {
        let words = line.split { $0 == " " || $0 == "\t" }.map(String.init)
        guard words.count >= 3 else {
            throw InvalidTokenLine("It must be NAME sha256:DIGEST GRANT…")
        }
        guard Self.isName(words[0]) else {
            throw Self.invalidName
        }
        guard words[1].hasPrefix(Self.digestStart),
            let bytes = Hexadecimal.bytes(words[1].dropFirst(Self.digestStart.count)),
            let digest = SHA256Digest(bytes)
        else {
            throw InvalidTokenLine("A digest is \(Self.digestStart) and 64 hexadecimal digits.")
        }
        do {
            grants = try Grants(words[2...])
        } catch {
            throw InvalidTokenLine(error.message)
        }
        name = words[0]
        self.digest = digest
    }

    private static let invalidName = InvalidTokenLine(
        "A name has 1 to \(nameCountMax) letters, digits, '-', '_', '.' and '@'."
    )

    private static func isName(_ text: String) -> Bool {
        (1...nameCountMax).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z")
                    || byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
                    || "-_.@".utf8.contains(byte)
            }
    }

    /// Reads a whole file.
    ///
    /// A name can have several lines, so that its token can be replaced while the old one is still
    /// valid. They must allow the same.
    package static func lines(of text: String) throws(InvalidTokenLine) -> [TokenLine] {
        var lines: [TokenLine] = []
        var grants: [String: Grants] = [:]
        var digests: Set<SHA256Digest> = []
        // By bytes: a carriage return and a line feed are one character.
        let texts = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, bytes) in texts.enumerated() {
            let isEnd = bytes.last == UInt8(ascii: "\r")
            let text = String(Substring(isEnd ? bytes.dropLast() : bytes))
                .trimmingPrefix { $0 == " " || $0 == "\t" }
            guard !text.isEmpty, text.first != "#" else { continue }
            do throws(InvalidTokenLine) {
                let line = try TokenLine(String(text))
                guard grants[line.name, default: line.grants] == line.grants else {
                    throw InvalidTokenLine("The name has other grants in an earlier line.")
                }
                guard digests.insert(line.digest).inserted else {
                    throw InvalidTokenLine("The digest is that of an earlier line.")
                }
                grants[line.name] = line.grants
                lines.append(line)
            } catch {
                throw InvalidTokenLine("Line \(index + 1): \(error.message)")
            }
        }
        return lines
    }
}

/// The error in a line: a message without the digest.
package struct InvalidTokenLine: Error, Hashable, Sendable {
    package let message: String

    package init(_ message: String) {
        self.message = message
    }
}
