import Testing

@Suite("Code scanner")
struct CodeScannerTests {
    @Test(arguments: [
        ("a // b! c", "a        "),
        ("a /* b /* c */ d */ e", "a                   e"),
        (#"f("x\"y") + 1"#, #"f("    ") + 1"#),
        ("let s = #\"a\"b\"# + t", "let s = #\"   \"# + t"),
        ("\"\"\"\n  a!\n  \"\"\".b", "\"\"\"\n    \n  \"\"\".b"),
        ("\"é\" + x", "\" \" + x"),
        ("`a test` + b", "`a test` + b"),
    ])
    func `comments and the inside of literals become spaces`(swift: String, code: String) {
        #expect(CodeScanner.blanked(swift, language: .swift) == code)
    }

    @Test(arguments: [
        (#"c = '"'; d = "}";"#, #"c = ' '; d = " ";"#),
        ("/* a /* b */ c", "             c"),
        ("x = '\\''; // y", "x = '  ';     "),
    ])
    func `the quotes and comments of C are known`(c: String, code: String) {
        #expect(CodeScanner.blanked(c, language: .c) == code)
    }
}
