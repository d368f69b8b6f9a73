extension Rule {
    static let testNames = Rule(
        "a test is named by a sentence",
        files: .swiftTests,
        broken: [
            Tree(["Tests/ATests/A.swift": "    @Test func releases() {}\n"]),
            Tree(["Tests/ATests/A.swift": "    @Test(arguments: a)\n    func `ends`() {}\n"]),
            Tree(["Tests/ATests/A.swift": "import XCTest\n"]),
        ],
        kept: [
            Tree(["Tests/ATests/A.swift": "    @Test func `a throwing body releases`() {}\n"]),
            Tree(["Tests/ATests/A.swift": "    @Test\n    func `a body`() {}\n    func f() {}\n"]),
        ]
    ) { file in
        var isTest = false
        return file.code.enumerated().compactMap { index, line in
            if line.hasPrefix("import XCTest") { return (index + 1, "XCTest instead of Testing") }
            if line.contains("@Test") { isTest = true }
            guard isTest, let keyword = line.firstRange(of: "func ") else { return nil }
            isTest = false
            let name = line[keyword.upperBound...].prefix { $0 != "(" }
            return name.hasPrefix("`") && name.contains(" ")
                ? nil : (index + 1, "\(name) is not a sentence")
        }
    }
}
