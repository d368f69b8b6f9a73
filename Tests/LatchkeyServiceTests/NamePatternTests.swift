import LatchkeyComparison
import LatchkeyTestSupport
import Testing

@testable import LatchkeyWatches

/// Patterns of names.
struct NamePatternTests {
    private static func matches(_ pattern: String, _ name: String) throws -> Bool {
        let pattern = try #require(NamePattern(Array(pattern.utf8)))
        return unsafe Array(name.utf8).withUnsafeBytes { unsafe pattern.matches($0) }
    }

    @Test(
        arguments: [
            ("jobs/*/state", "jobs/1/state", true), ("jobs/*/state", "jobs//state", true),
            ("jobs/*/state", "jobs/1/2/state", false), ("jobs/*/state", "jobs/1/state/", false),
            ("*", "a", true), ("*", "a/b", false), ("a*c", "ac", true), ("a*c", "abc", true),
            ("aa*a", "aa", false), ("aa*a", "aaa", true), ("*/*", "a/b", true),
            ("*/*", "ab", false), ("user-*", "user-é", true), ("*x", "y", false),
        ]
    )
    func `a star stands for a part without a slash`(
        pattern: String,
        name: String,
        expected: Bool
    ) throws {
        #expect(try Self.matches(pattern, name) == expected)
    }

    @Test func `a pattern has a star, and one between two slashes`() {
        for text in ["", "a", "a/b", "**", "a*b*c", "a/*b*"] {
            #expect(NamePattern(Array(text.utf8)) == nil, "\(text)")
        }
        #expect(NamePattern(Array("jobs/a*/x".utf8))?.prefix == Array("jobs/a".utf8))
    }

    @Test func `patterns match as regular expressions do`() throws {
        var random = SeededRandom(seed: 3)
        func text(_ letters: String, _ count: ClosedRange<Int>) -> String {
            String(
                (0..<Int.random(in: count, using: &random)).map { _ in
                    letters.randomElement(using: &random) ?? "a"
                }
            )
        }
        var found = 0
        for _ in 0..<3_000 {
            let pattern = text("ab/*", 1...5)
            guard NamePattern(Array(pattern.utf8)) != nil else { continue }
            let expression = try Regex(pattern.replacing("*", with: "[^/]*"))
            let name = text("ab/", 1...5)
            let expected = name.wholeMatch(of: expression) != nil
            #expect(try Self.matches(pattern, name) == expected, "\(pattern), \(name)")
            found += expected ? 1 : 0
        }
        #expect(found > 100)
    }
}
