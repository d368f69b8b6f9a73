import LatchkeyJSON
import LatchkeyStore
import Testing

struct PropertyNameTests {
    private func check(_ bytes: [UInt8]) throws(InvalidName) {
        let outcome = unsafe bytes.withUnsafeBytes { bytes in
            Result { () throws(InvalidName) in try unsafe PropertyName.check(bytes) }
        }
        try outcome.get()
    }

    @Test(arguments: ["a", "a/b", "é", "日本", " ", "%", "\u{A0}", "😀", "..", "\u{200B}"])
    func `any text without control characters is a name`(text: String) throws {
        try check(Array(text.utf8))
    }

    @Test func `the length is bounded in bytes`() throws {
        try check(Array(repeating: 0x61, count: 256))
        #expect(throws: InvalidName.tooLong) { try check(Array(repeating: 0x61, count: 257)) }
        try check(Array(String(repeating: "é", count: 128).utf8))
        #expect(throws: InvalidName.tooLong) {
            try check(Array(String(repeating: "é", count: 129).utf8))
        }
        #expect(throws: InvalidName.empty) { try check([]) }
    }

    @Test(arguments: [0x00, 0x01, 0x0A, 0x1F, 0x7F, 0x80, 0x85, 0x9F] as [UInt32])
    func `control characters are refused`(value: UInt32) throws {
        let scalar = try #require(Unicode.Scalar(value))
        #expect(throws: InvalidName.controlCharacter) {
            try check(Array("a\(Character(scalar))é".utf8))
        }
    }

    @Test(arguments: [[0x80], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0x61, 0xFF]])
    func `bytes that are not UTF-8 are refused`(bytes: [UInt8]) {
        #expect(throws: InvalidName.notUTF8) { try check(bytes) }
    }

    /// The name that a string of JSON is.
    private func name(of string: String) throws(InvalidName) -> [UInt8] {
        let outcome = unsafe Array(string.utf8).withUnsafeBytes { bytes in
            Result { () throws(InvalidName) in
                let name = try unsafe PropertyName(JSONView(bytes))
                return withExtendedLifetime(name) { unsafe Array(name.bytes) }
            }
        }
        return try outcome.get()
    }

    @Test func `a name is read from a string with and without escapes`() throws {
        for string in [#""aé/b""#, #""\u0061\u00E9\/b""#] {
            #expect(try name(of: string) == Array("aé/b".utf8))
        }
        #expect(throws: InvalidName.empty) { try name(of: #""""#) }
        #expect(throws: InvalidName.controlCharacter) { try name(of: #""a\n""#) }
        #expect(throws: InvalidName.notUTF8) { try name(of: #""\ud800""#) }
    }
}
