internal import CGnuTLS
internal import Foundation

/// A file of tokens, and the tokens by their names.
package struct Tokens: Sendable {
    private let folder: TemporaryFolder
    private let made: [(name: String, line: String)]
    private let secrets: [String: String]

    /// Writes a file of new tokens with these grants.
    package init(_ grants: [String: [String]]) throws {
        folder = try TemporaryFolder()
        var made: [(name: String, line: String)] = []
        var secrets: [String: String] = [:]
        for (name, grants) in grants {
            let token = Self.make(name, grants)
            made.append((name, token.line))
            secrets[name] = token.secret
        }
        self.made = made
        self.secrets = secrets
        try lines().write(toFile: path, atomically: true, encoding: .utf8)
    }

    /// A new token, and the line that says what it may do.
    package static func make(_ name: String, _ grants: [String]) -> (secret: String, line: String) {
        let secret = "lk_" + UUID().uuidString.lowercased()
        var digest = [UInt8](repeating: 0, count: 32)
        _ = unsafe gnutls_hash_fast(GNUTLS_DIG_SHA256, secret, secret.utf8.count, &digest)
        let text = digest.map { String(format: "%02x", $0) }.joined()
        return (secret, ([name, "sha256:" + text] + grants).joined(separator: " "))
    }

    package var path: String { folder.path + "/tokens" }
    package var flags: [String] { ["--token-file", path] }

    /// The text of the file, but for the line of a name.
    package func lines(without name: String = "") -> String {
        made.filter { $0.name != name }.map { $0.line + "\n" }.joined()
    }

    package subscript(name: String) -> String { secrets[name] ?? "" }

    package func headers(_ name: String) -> [String] { ["Authorization: Bearer \(self[name])"] }
}
