import Foundation
import LatchkeyJSON
import Testing

struct JSONViewTests {
    @Test(
        arguments: [
            ("null", .null), ("true", .boolean), ("false", .boolean), ("-1", .number),
            ("0", .number),
            ("\"\"", .string), ("[]", .array), ("{}", .object),
        ] as [(String, JSONView.Kind)]
    )
    func `a view leaves out the white space around the value`(
        text: String,
        kind: JSONView.Kind
    ) throws {
        for spaced in [text, " \t\r\n" + text + "\n "] {
            try withJSON(spaced) { view in
                #expect(view.spelling == text)
                #expect(view.kind == kind)
                #expect(Array(view.members).isEmpty)
                #expect(Array(view.elements).isEmpty)
                #expect(view.boolean == (kind == .boolean ? text == "true" : nil))
            }
        }
    }

    /// The scan takes eight bytes at a time.
    @Test func `a string ends at its quote wherever it stands`() throws {
        for length in 0..<40 {
            for escape in ["", #"\""#, #"\\"#, #"\u0022"#, "é", "\u{7F}", "!#[]"] {
                for before in 0...length {
                    let start = String(repeating: "x", count: before)
                    let string =
                        "\"" + start + escape + String(repeating: "y", count: length) + "\""
                    try withJSON("[" + string + ",\"\"]") { view in
                        #expect(view.elements.map(\.spelling) == [string, "\"\""])
                    }
                }
            }
        }
    }

    @Test(arguments: [
        (#""""#, ""), (#""a""#, "a"), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"),
        (#""\u0061\u00e9\u20AC\uD83D\ude00x""#, "aé€😀x"), (#""é\u0000""#, "é\0"),
        (#""\u0000""#, "\0"), (#""\u0800\uFFFF\uDBFF\uDFFF""#, "\u{800}\u{FFFF}\u{10FFFF}"),
    ])
    func `a string is read without its escapes`(text: String, expected: String) throws {
        try withJSON(text) { view in
            #expect(view.string == expected)
            #expect(view.unescaped() == Array(expected.utf8))
            let plain = unsafe view.plainString.map { unsafe Array($0) }
            #expect(plain == (text.contains("\\") ? nil : Array(expected.utf8)))
        }
    }

    @Test(
        arguments: [
            (#""\ud800""#, [0xED, 0xA0, 0x80]), (#""\udfff""#, [0xED, 0xBF, 0xBF]),
            (#""\ud800\ud800\udc00""#, [0xED, 0xA0, 0x80, 0xF0, 0x90, 0x80, 0x80]),
            (#""\ud800\\udc00""#, [0xED, 0xA0, 0x80, 0x5C] + Array("udc00".utf8)),
            (#""\ud800\n""#, [0xED, 0xA0, 0x80, 0x0A]),
            (#""\ud800\ue000""#, [0xED, 0xA0, 0x80, 0xEE, 0x80, 0x80]),
            (#""\udc00\ud800""#, [0xED, 0xB0, 0x80, 0xED, 0xA0, 0x80]),
        ] as [(String, [UInt8])]
    )
    func `half a surrogate pair is no text`(text: String, bytes: [UInt8]) throws {
        try withJSON(text) { view in
            #expect(view.unescaped() == bytes)
            #expect(view.string == nil)
        }
    }

    @Test func `a string is compared with its text`() throws {
        for text in [#""put""#, #""\u0070ut""#, #""p\u0075t""#] {
            try withJSON(text) { view in
                #expect(view.isString("put"))
                #expect(!view.isString("pu"))
                #expect(!view.isString("putt"))
                #expect(!view.isString("Put"))
            }
        }
        for text in ["1", "{}", #""\u0070""#, #""""#, #""putput""#, "true", "null"] {
            try withJSON(text) { #expect(!$0.isString("put")) }
        }
        try withJSON(#""""#) { #expect($0.isString("")) }
        try withJSON(#""a\\b""#) { #expect($0.isString("a\\b")) }
    }

    @Test(
        arguments: [
            ("0", 0), ("-0", 0), ("0e99999999999999999999", 0), ("7", 7), ("-12", -12), ("7.0", 7),
            ("70e-1", 7), ("0.007E+3", 7), ("1.20e1", 12), ("1e18", 1_000_000_000_000_000_000),
            ("9223372036854775807", .max), ("-9223372036854775808", .min),
            ("-922337203685477580.8e1", .min), ("9223372036854775808", nil), ("1e19", nil),
            ("-9223372036854775809", nil), ("0.5", nil), ("1.5e0", nil), ("1e-1", nil),
            ("1e99999999999999999999", nil), ("1e-99999999999999999999", nil), ("\"1\"", nil),
            ("true", nil), ("[1]", nil), ("1e00000000000000000000000001", 10), ("100e-2", 1),
        ] as [(String, Int64?)]
    )
    func `an integer is read however it is spelled`(text: String, expected: Int64?) throws {
        try withJSON(text) { #expect($0.integer == expected) }
    }

    @Test(
        arguments: [
            ("1.5", 1500), ("0.001", 1), ("1e-3", 1), ("0.0005", nil),
            ("315360000", 315_360_000_000),
            ("-1", -1000), ("9223372036854775.807", .max), ("9223372036854775.808", nil),
        ] as [(String, Int64?)]
    )
    func `seconds are read as milliseconds`(text: String, expected: Int64?) throws {
        try withJSON(text) { #expect($0.integer(timesTenTo: 3) == expected) }
    }
}

/// Connections are served on stacks of 512 KiB and more.
@Suite(.timeLimit(.minutes(15)))
struct DeepJSONTests {
    private static func nested(_ open: String, _ inner: String, _ close: String) -> String {
        String(repeating: open, count: 10_000) + inner + String(repeating: close, count: 10_000)
    }

    private static func onSmallStack(
        _ body: @escaping @Sendable () throws -> [Bool]
    ) async throws -> [Bool] {
        try await withCheckedThrowingContinuation { continuation in
            let thread = Thread { continuation.resume(with: Result(catching: body)) }
            thread.stackSize = 512 * 1024
            thread.start()
        }
    }

    @Test func `a deep value is scanned on a small stack`() async throws {
        let findings = try await Self.onSmallStack {
            try ["{\"a\":": "}", "[": "]", "[{\"b\":[": "]}]"].map { open, close in
                try withJSON("[1," + Self.nested(open, "1", close) + ",2]") { view in
                    view.elements.map(\.spelling).last == "2"
                }
            }
        }
        #expect(findings == [true, true, true])
    }

    @Test func `deep values are compared on a small stack`() async throws {
        let findings = try await Self.onSmallStack {
            try [("{\"a\":", "}"), ("[", "]"), ("[{\"b\":[", "]}]")].flatMap { open, close in
                let one = Self.nested(open, "1", close)
                return try [("1.0", true), ("2", false)].map { inner, expected in
                    let other = Self.nested(open, inner, close)
                    return try withJSON(one) { one in
                        try withJSON(other) { JSONEquality.areEqual(one, $0) == expected }
                    }
                }
            }
        }
        #expect(findings == Array(repeating: true, count: 6))
    }

    @Test func `deep values are merged on a small stack`() async throws {
        let findings = try await Self.onSmallStack {
            let target = Self.nested("{\"a\":", "1", "}")
            return try [("2", "2"), ("null", "")].flatMap { inner, value in
                let patch = Self.nested("{\"a\":", inner, "}")
                let expected = String(target).replacing(
                    "{\"a\":1}",
                    with: value.isEmpty ? "{}" : "{\"a\":\(value)}"
                )
                return try withJSON(patch) { patch in
                    let added = MergePatch.apply(patch: patch, to: nil)
                    let merged = try withJSON(target) { MergePatch.apply(patch: patch, to: $0) }
                    return [added == Array(expected.utf8), merged == Array(expected.utf8)]
                }
            }
        }
        #expect(findings == Array(repeating: true, count: 4))
    }
}
