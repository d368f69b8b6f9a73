import LatchkeyStore
import LatchkeyTestSupport
import Testing

@testable import LatchkeyAccess
@testable import LatchkeyFrame
@testable import LatchkeyService

/// The rights of tokens, and their spelling.
@Suite
struct GrantTests {
    private func token(_ grants: String) throws -> Token {
        let made = try TokenLine.make("t", grants.split(separator: " ").map(String.init))
        let line = try TokenLine(made.line)
        return Token(line.name, line.grants)
    }

    private func allows(_ token: Token, _ right: Right, _ start: String) -> Bool {
        let bytes = Array(start.utf8)
        return unsafe bytes.withUnsafeBytes { unsafe token.allows(right, $0) }
    }

    @Test(arguments: Right.allCases.filter { !$0.takesPrefix })
    func `rights to all names are apart from each other`(right: Right) throws {
        let token = try token(right.rawValue)
        for other in Right.allCases {
            #expect(token.allows(other) == (other == right))
        }
        #expect(!allows(token, .read, "a") && !allows(token, .write, "a"))
        let others = Right.allCases.filter { $0 != right }.map(\.rawValue)
        #expect(try !self.token(others.joined(separator: ",")).allows(right))
    }

    /// The grants against the plain definition, over random prefixes and names of two letters.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `a name is allowed if a prefix of a grant begins it`(seed: UInt64) throws {
        var random = SeededGenerator(seed)
        func text(_ countMax: Int) -> String {
            String(
                (0..<Int.random(in: 0...countMax, using: &random)).map { _ in
                    Bool.random(using: &random) ? "a" : "b"
                }
            )
        }
        let granted = (0..<Int.random(in: 1...6, using: &random)).map { _ in
            (Bool.random(using: &random) ? Right.read : .write, text(4))
        }
        let words = granted.map { $1.isEmpty ? $0.rawValue : "\($0.rawValue):\($1)" }
        let token = try token(words.joined(separator: " "))
        for _ in 0..<200 {
            let start = text(6)
            for right in [Right.read, .write] {
                let isRight = granted.contains { $0.0 == right && start.hasPrefix($0.1) }
                #expect(allows(token, right, start) == isRight, "\(granted) \(right) \(start)")
            }
        }
    }

    @Test func `a prefix is percent-encoded`() throws {
        let token = try token("read:a%20b%2F%3A read:%C3%A9")
        #expect(allows(token, .read, "a b/:c") && allows(token, .read, "é"))
        #expect(throws: InvalidGrant.invalidPrefix) { try Grants(["read:%"]) }
        #expect(throws: InvalidGrant.invalidPrefix) { try Grants(["read:%FF"]) }
        #expect(throws: InvalidGrant.invalidPrefix) { try Grants(["read:%00"]) }
        // As from a script whose variable is empty, and as one grant that was meant as two.
        #expect(throws: InvalidGrant.invalidPrefix) { try Grants(["write:"]) }
        #expect(throws: InvalidGrant.invalidPrefix) { try Grants(["read:a/,write:b/"]) }
        #expect(try Grants(["read:a%2C"]).readPrefixes == [Array("a,".utf8)])
        let longest = String(repeating: "a", count: PropertyName.byteCountMax)
        #expect(throws: Never.self) { try Grants(["read:" + longest]) }
        #expect(throws: InvalidGrant.invalidPrefix) { try Grants(["read:a" + longest]) }
    }

    @Test func `an invalid grant is refused`() {
        #expect(throws: InvalidGrant.unknownRight("reads")) { try Grants(["reads"]) }
        #expect(throws: InvalidGrant.unknownRight("")) { try Grants(["read,"]) }
        #expect(throws: InvalidGrant.unknownRight("")) { try Grants([":app/"]) }
        #expect(throws: InvalidGrant.takesNoPrefix(.admin)) { try Grants(["read,admin:app/"]) }
    }

    @Test func `a token that is mistyped is no whole one`() {
        let secret = TokenSecret.make()
        #expect(TokenSecret.isWhole(secret) && secret != TokenSecret.make())
        for index in secret.indices {
            var wrong = secret
            let other: Character = wrong[index] == "0" ? "1" : "0"
            wrong.replaceSubrange(index...index, with: [other])
            #expect(!TokenSecret.isWhole(wrong))
        }
        #expect(
            !TokenSecret.isWhole(String(secret.dropLast())) && !TokenSecret.isWhole(secret + "0")
        )
    }

    @Test func `a file has lines, comments and empty lines`() throws {
        let first = try TokenLine.make("ci", ["read"])
        let second = try TokenLine.make("ci", ["read"])
        let text = "# tokens\n\n\(first.line)\r\n  \(second.line)\n\t# end"
        let lines = try TokenLine.lines(of: text)
        #expect(lines.map(\.name) == ["ci", "ci"])
        #expect(lines[0].digest == TokenSecret.digest(first.secret))
        #expect(!text.contains(first.secret))
    }

    @Test func `grants can change while a token is asked`() throws {
        let token = try token("read:a")
        #expect(allows(token, .read, "a") && !token.allows(.admin))
        token.grant(try Grants(["read:b", "admin"]))
        #expect(!allows(token, .read, "a") && allows(token, .read, "b") && token.allows(.admin))
    }

    @Test func `a line that is wrong is named`() throws {
        let line = try TokenLine.make("ci", ["read"]).line
        let digest = line.split(separator: " ")[1]
        let other = String(repeating: "0", count: 64)
        let wrong = [
            "ci": "NAME sha256:DIGEST GRANT",
            "ci \(digest)": "NAME sha256:DIGEST GRANT",
            "c/i \(digest) read": "A name has",
            "ci sha256:00 read": "A digest is",
            "ci \(digest.dropFirst(7)) read": "A digest is",
            "ci \(digest) reads": "'reads' is no right",
            "ci \(digest) read": "The digest is that of an earlier line",
            "ci sha256:\(other) write": "The name has other grants",
        ]
        for (text, reason) in wrong {
            let error = #expect(throws: InvalidTokenLine.self) {
                try TokenLine.lines(of: line + "\n\n" + text)
            }
            #expect(error?.message.hasPrefix("Line 3: ") == true)
            #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
            #expect(error?.message.contains(digest.dropFirst(7)) == false)
        }
    }
}
