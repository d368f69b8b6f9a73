extension Rule {
    /// The page whose claims name their tests, and its sections that claim nothing.
    private static let claims = "docs/threat-model.md"
    private static let withoutClaims = ["Who is trusted", "What it does not defend"]
    /// What a row says that has a reason instead of a test.
    private static let untested = "not tested: "

    static let testedClaims = Rule(
        "each claim of the threat model names a test that exists",
        broken: [
            claimTree(""),
            claimTree("none"),
            claimTree("not tested: "),
            claimTree("`a test that is gone`"),
            claimTree("`it held`"),
            claimTree("`it holds`, and more"),
            claimTree("`it holds`, `another is gone`"),
            claimTree("`Tests/gone.py: holds`"),
            claimTree("`Tests/a.py: gone`"),
            claimTree("`Tests/a.py: hold`"),
            Tree([claims: "# Model\n\n## Attacks\n\nNothing can go wrong.\n"]),
            Tree([claims: "# Model\n\n## Attacks\n\n| Attack | Defence |\n|---|---|\n| a | b |\n"]),
        ],
        kept: [
            claimTree("`it holds`"),
            claimTree("`Tests/a.py: holds`, `it holds`, `Tests/a.py: what is checked`"),
            claimTree("`Tests/a.sh: case`"),
            claimTree("not tested: it follows from `it holds`"),
            Tree([claims: "# Model\n\n## Who is trusted\n\n| Party |\n|---|\n| all |\n"]),
            Tree(["docs/a.md": "# Page\n\n## Section\n\n| Test |\n|---|\n| none |\n"]),
        ]
    ) { tree in
        guard let page = tree.file(claims) else { return [] }
        let names = testNames(of: tree)
        var findings: [Finding] = []
        var section: (title: String, line: Int, hasClaims: Bool)?
        func endSection() {
            guard let section, !section.hasClaims, !withoutClaims.contains(section.title) else {
                return
            }
            let message = "'\(section.title)' has no table whose last column is Test"
            findings.append(Finding(path: page.path, line: section.line, message: message))
        }
        var isTable = false
        for (index, line) in page.lines.enumerated() {
            if line.hasPrefix("## ") {
                endSection()
                section = (String(line.dropFirst(3)), index + 1, false)
            }
            guard line.hasPrefix("|") else {
                isTable = false
                continue
            }
            if line.hasSuffix("| Test |") {
                isTable = true
                section?.hasClaims = true
            } else if isTable, !line.hasPrefix("|---"),
                let mistake = mistake(in: lastCell(line), tree, names)
            {
                findings.append(Finding(path: page.path, line: index + 1, message: mistake))
            }
        }
        endSection()
        return findings
    }

    private static func lastCell(_ row: String) -> String {
        let cells = row.split(separator: "|", omittingEmptySubsequences: false).dropLast()
        let words = (cells.last ?? "").split(separator: " ", omittingEmptySubsequences: true)
        return words.joined(separator: " ")
    }

    /// What is wrong with a cell that names tests, in backticks and with commas between them.
    private static func mistake(in cell: String, _ tree: Tree, _ names: Set<String>) -> String? {
        if cell.hasPrefix(untested) { return nil }
        let parts = cell.split(separator: "`", omittingEmptySubsequences: false).map(String.init)
        let outside = stride(from: 0, to: parts.count, by: 2).map { parts[$0] }
        let inside = stride(from: 1, to: parts.count, by: 2).map { parts[$0] }
        guard !inside.isEmpty, outside.allSatisfy({ $0.allSatisfy { ", ".contains($0) } }) else {
            return "no names of tests: '\(cell)'"
        }
        return inside.first { !isTest($0, tree, names) }.map { "no test is named '\($0)'" }
    }

    /// Whether a name is that of a test in Swift, or of a check, `FILE: NAME`.
    private static func isTest(_ name: String, _ tree: Tree, _ names: Set<String>) -> Bool {
        guard name.hasPrefix("Tests/"), let colon = name.firstRange(of: ": ") else {
            return names.contains(name)
        }
        guard let file = tree.file(String(name[..<colon.lowerBound])) else { return false }
        let check = name[colon.upperBound...]
        // In Python a text, in C a function, in a script of the shell a case.
        let words = ["\"\(check)\"", " \(check)(", " \(check))"]
        return words.contains { file.text.contains($0) }
    }

    /// The names of the tests in Swift.
    private static func testNames(of tree: Tree) -> Set<String> {
        let opening = "func `"
        return Set(
            tree.files(in: .swiftTests).flatMap(\.lines).compactMap { line in
                guard let start = line.firstRange(of: opening),
                    !line.drop(while: { $0 == " " }).hasPrefix("//")
                else { return nil }
                return String(line[start.upperBound...].prefix { $0 != "`" })
            }
        )
    }

    private static func claimTree(_ cell: String) -> Tree {
        Tree([
            claims: "# Model\n\n## Attacks\n\n| Attack | Test |\n|---|---|\n| a | \(cell) |\n",
            "Tests/ATests/A.swift": "    @Test func `it holds`() {}\n    // func `it held`() {}\n",
            "Tests/a.py": "CHECKS = {\"holds\": holds, \"what is checked\": look}\n",
            "Tests/a.sh": "case $1 in\n    case) run ;;\nesac\n",
        ])
    }
}
