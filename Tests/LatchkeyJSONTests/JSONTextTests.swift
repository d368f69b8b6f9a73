import Foundation
import LatchkeyJSON
import LatchkeyTestSupport
import Testing

/// The cases follow RFC 8259's grammar, rule by rule, with what parsers are known to let through.
struct JSONTextTests {
    private func check(_ text: String, depthMax: Int = 8) throws(InvalidJSON) {
        try check(Array(text.utf8), depthMax: depthMax)
    }

    private func check(_ bytes: [UInt8], depthMax: Int = 8) throws(InvalidJSON) {
        let outcome = unsafe bytes.withUnsafeBytes { bytes in
            Result { () throws(InvalidJSON) in
                try unsafe JSONText.check(bytes, depthMax: depthMax)
            }
        }
        try outcome.get()
    }

    @Test(arguments: [
        "null", "true", "false", "0", "-0", "7", "-12", "1.5", "1e3", "1E+3", "1e-3",
        "12345678901234567890123456789", "1e999", "\"\"", "\"a\"", "\"\\u00e9\\n\\/\"", "\"é\"",
        "\"\\ud83d\\ude00\"", "\"\\ud800\"", "\"\u{7F}\"", "\"\u{2028}\"", "[]", "[1,2]", "{}",
        "{\"a\":1}", "{\"a\":1,\"a\":2}", " \t\r\n1 \t\r\n", "[[[]]]", "{\"\":{\"\":[null]}}",
        " [ 1 , -0.5e+3 , true , false , null ] ", "{\"a\\\\\\\"\\n\":\"\\/\\t\"}", "\"aé漢😀\"",
        "{\"é\":\"1234567é\"}", "\r\n\"12345678\"\t", "\"1234567890123456\\u00E9\"",
    ])
    func `a text of the grammar is taken`(text: String) throws {
        try check(text)
    }

    @Test(arguments: [
        "", " ", "nul", "nulll", "True", "NaN", "Infinity", "-Infinity", "+1", "01", "-01", "-",
        ".5", "1.", "1.e3", "1e", "1e+", "0x1", "1_0", "'a'", "\"a", "a\"", "\"\n\"", "\"\t\"",
        "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\0\"", "\0", "1\0", "[", "]", "[1", "[1,]",
        "[,1]", "[1,,2]", "[1 2]", "{", "}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}",
        "{1:1}", "{\"a\" 1}", "{,}", "1 2", "1,", "{}{}", "[]]", "/* */ 1", "1 // c", "\u{FEFF}1",
        "\u{A0}1", "\u{0B}1", "\u{0C}1", "#", "undefined", "[1}", "{]", "\"\\",
        "1\"", "1.5\"}", "\"\"\"", "{}\"a", "[] \"", "\"12345678", "\"1234567\n\"",
    ])
    func `anything else is malformed`(text: String) {
        #expect(throws: InvalidJSON.self) { try check(text) }
        do {
            try check(text)
        } catch {
            guard case .malformed(let offset) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(offset <= text.utf8.count)
        }
    }

    @Test(arguments: [
        [0x22, 0x80, 0x22], [0x22, 0xC0, 0xAF, 0x22], [0x22, 0xE0, 0x80, 0xAF, 0x22],
        [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], [0x22, 0xC3, 0x22],
        [0x22, 0xFF, 0x22],
    ])
    func `bytes that are not UTF-8 are found where they stand`(bytes: [UInt8]) {
        #expect(throws: InvalidJSON.notUTF8(offset: 1)) { try check(bytes) }
    }

    @Test(arguments: [("[", "]"), ("{\"a\":", "}")])
    func `nesting is taken at the bound and refused above it`(
        open: String,
        close: String
    ) throws {
        let inner = open == "[" ? "" : "1"
        func nested(_ depth: Int) -> String {
            String(repeating: open, count: depth) + inner + String(repeating: close, count: depth)
        }
        try check(nested(8))
        #expect(throws: InvalidJSON.tooDeep) { try check(nested(9)) }
        #expect(throws: InvalidJSON.tooDeep) { try check(String(repeating: open, count: 100_000)) }
    }

    /// Deeper than one word has bits for the open arrays and objects.
    @Test(arguments: [63, 64, 65, 127, 128, 129, 640, 1_000, 10_000])
    func `nesting goes as deep as it may`(depth: Int) throws {
        for (open, close) in [("[", "]"), ("{\"\\u0061\":", "}")] {
            let begin = String(repeating: open, count: depth)
            let end = String(repeating: close, count: depth)
            try check(begin + "\"\\n\"" + end, depthMax: depth)
            #expect(throws: InvalidJSON.tooDeep) {
                try check(begin + "1" + end, depthMax: depth - 1)
            }
            let text = begin + "1" + end.dropLast()
            #expect(throws: InvalidJSON.malformed(offset: text.utf8.count)) {
                try check(text, depthMax: depth)
            }
        }
    }

    /// Texts of a grammar's parts, and a valid text with some bytes changed.
    @Test(arguments: 1...20)
    func `a text is taken if Foundation reads it`(seed: Int) {
        var random = SeededGenerator(UInt64(seed))
        let parts = [
            "{", "}", "[", "]", ",", ":", "\"a\"", "\"\"", "1", "-", "0", "1.5", "e3", "true",
            "null", " ", "\n", "\\", "\"", "é", "\"12345678\"", "\u{1}", "\u{B}", "fals", "+",
            "\\u00e9",
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
                    text[index] = .random(in: 1...255, using: &random)
                }
            }
            let isTaken = (try? check(text, depthMax: 100)) != nil
            let isRead =
                (try? JSONSerialization.jsonObject(with: Data(text), options: .fragmentsAllowed))
                != nil
            #expect(isTaken == isRead, "\(String(decoding: text, as: UTF8.self))")
            takenCount += isTaken ? 1 : 0
        }
        #expect(takenCount > 100, "hardly any text is valid")
    }
}
