import Testing

@testable import LatchkeyStore

/// The quick reader against the close one: what it takes must be valid.
struct JSONCommonTests {
    private static let depthMax = 5

    private func verdicts(_ text: [UInt8]) -> (isCommon: Bool, isValid: Bool) {
        unsafe text.withUnsafeBufferPointer { text in
            let isCommon = unsafe JSONText.isCommon(text, depthMax: Self.depthMax)
            do throws(InvalidJSON) {
                try unsafe JSONText.checkClosely(text, depthMax: Self.depthMax)
                return (isCommon, true)
            } catch {
                return (isCommon, false)
            }
        }
    }

    @Test(arguments: [
        "{}", "[]", " [ 1 , -0.5e+3 , true , false , null ] ", "{\"a\":{\"b\":[[\"\"]]}}",
        "{\"a\\\\\\\"\\n\":\"\\/\\t\"}", "\"aé漢😀\"", "{\"é\":\"1234567é\"}", "[[[[[0]]]]]",
        "\r\n\"12345678\"\t",
    ])
    func `what most clients send is taken at once`(text: String) {
        #expect(verdicts(Array(text.utf8)) == (true, true))
    }

    @Test(arguments: ["[[[[[[0]]]]]]", "\"\\u00e9\"", "[1,]", "{\"a\":1,}", "[1}", "", "01", "1."])
    func `what needs a closer look is left`(text: String) {
        #expect(!verdicts(Array(text.utf8)).isCommon)
    }

    /// Texts of a grammar's parts, most of which are not valid, with some bytes changed.
    @Test(arguments: 1...40)
    func `nothing is taken that is not valid`(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let parts = [
            "{", "}", "[", "]", ",", ":", "\"a\"", "\"\"", "1", "-", "0", "1.5", "e3", "true",
            "null", " ", "\n", "\\", "\"", "é", "\"12345678\"", "\u{1}", "\u{B}", "fals", "+",
        ]
        var takenCount = 0
        for _ in 0..<3000 {
            var text: [UInt8]
            if Bool.random(using: &random) {
                let count = Int.random(in: 0...8, using: &random)
                text = (0..<count).flatMap { _ in
                    Array((parts.randomElement(using: &random) ?? "").utf8)
                }
            } else {
                text = Array(#"{"a":[1,-2.5e1,"xyz12345678é"],"b":{"c":[true,null]}}"#.utf8)
                for _ in 0..<Int.random(in: 0...2, using: &random) {
                    let index = Int.random(in: 0..<text.count, using: &random)
                    text[index] = .random(in: 0...255, using: &random)
                }
            }
            let (isCommon, isValid) = verdicts(text)
            #expect(!isCommon || isValid, "\(text)")
            takenCount += isCommon ? 1 : 0
        }
        #expect(takenCount > 100, "the quick reader takes hardly anything")
    }
}
