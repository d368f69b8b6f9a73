import LatchkeyHTTP
import LatchkeySettings
import Testing

@Suite struct PercentDecodingTests {
    private static func decode(
        _ text: StaticString,
        plusIsSpace: Bool = false
    ) throws(PercentDecodingError) -> String {
        let bytes = try PercentDecoding.decode(Bytes(text), plusIsSpace: plusIsSpace)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test(
        arguments: [
            ("", ""), ("plain", "plain"), ("a%2Fb", "a/b"), ("a%2fb", "a/b"), ("%25", "%"),
            ("%C3%A4", "ä"), ("ä", "ä"), ("%F0%9F%94%91", "🔑"), ("a+b", "a+b"), ("%00", "\0"),
            ("%2e%2E", ".."), ("%41%42", "AB"),
        ] as [(StaticStringArgument, String)]
    )
    func `an escape is the byte that it names`(text: StaticStringArgument, decoded: String) throws {
        #expect(try PercentDecodingTests.decode(text.value) == decoded)
    }

    @Test(arguments: ["%", "%4", "a%", "a%2", "%G0", "%0G", "%%20", "% 20", "%-1", "%2%20"])
    func `an escape without two digits is an error`(text: StaticStringArgument) {
        #expect(throws: PercentDecodingError.truncatedEscape) {
            try PercentDecodingTests.decode(text.value)
        }
    }

    @Test(arguments: ["%FF", "%C3", "%C3x", "%E2%82", "%ED%A0%80", "%C0%80", "%F5%80%80%80"])
    func `bytes that are not UTF-8 are an error`(text: StaticStringArgument) {
        #expect(throws: PercentDecodingError.invalidText) {
            try PercentDecodingTests.decode(text.value)
        }
    }

    @Test func `a plus sign is a space only if it is asked for`() throws {
        #expect(try PercentDecodingTests.decode("a+b%2B", plusIsSpace: true) == "a b+")
        #expect(try PercentDecodingTests.decode("a+b%2B") == "a+b+")
    }

    @Test func `plain means that every byte stands for itself`() {
        #expect(PercentDecoding.isPlain(Bytes("a+b/c.~")))
        #expect(!PercentDecoding.isPlain(Bytes("a%20")))
        #expect(!PercentDecoding.isPlain(Bytes("ä")))
    }
}

/// A literal that is a test argument: `StaticString` itself is not `CustomTestStringConvertible`.
struct StaticStringArgument: ExpressibleByStringLiteral, Sendable, CustomStringConvertible {
    let value: StaticString

    init(stringLiteral value: StaticString) {
        self.value = value
    }

    var description: String { "\(value)" }
}
