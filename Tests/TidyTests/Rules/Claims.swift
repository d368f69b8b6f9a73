extension Rule {
    /// The page whose rows claim a defence, its sections without claims, and the file that names
    /// the tests of each claim.
    private static let claims = "docs/threat-model.md"
    private static let withoutClaims = ["Who is trusted", "What it does not defend"]
    private static let claimTests = "Tests/threats.md"
    /// The start of a cell that has a reason instead of a test.
    private static let untested = "not tested: "

    static let testedClaims = Rule(
        "each claim of the threat model has a row that names its tests",
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
            // A claim without tests: no row, one with another text, one in another section.
            Tree([claims: claimPage("| a | b |\n")]),
            claimTree(rows: "| a | b |\n| c | d |\n", tests: "| a | `it holds` |\n"),
            claimTree(rows: "| a | b |\n", tests: "| A | `it holds` |\n"),
            claimTree(rows: "| a | b |\n", tests: "\n## More\n\n\(testHead)| a | `it holds` |\n"),
            // Tests without a claim, and rows that are not unique.
            claimTree(rows: "| a | b |\n", tests: "| a | `it holds` |\n| c | `it holds` |\n"),
            claimTree(rows: "| a | b |\n", tests: "| a | `it holds` |\n| a | `it holds` |\n"),
            claimTree(rows: "| a | b |\n| a | c |\n", tests: "| a | `it holds` |\n"),
            Tree([claimTests: "# Tests\n\n## Attacks\n\n\(testHead)| a | not tested: so |\n"]),
            // A section without claims.
            Tree([claims: "# Model\n\n## Attacks\n\nNothing can go wrong.\n"]),
            Tree([claims: "# Model\n\n## Attacks\n\n| Attack | Test |\n|---|---|\n| a | b |\n"]),
            Tree([claims: claimPage("")]),
        ],
        kept: [
            claimTree("`it holds`"),
            claimTree("`Tests/a.py: holds`, `it holds`, `Tests/a.py: what is checked`"),
            claimTree("`Tests/a.sh: case`"),
            claimTree("not tested: it follows from `it holds`"),
            claimTree(
                rows: "| a | b |\n| `c` | b |\n",
                tests: "| `c` | not tested: so |\n| a | `it holds` |\n"
            ),
            claimTree(
                rows: "| a | b |\n\n## More\n\n| Attack | Defence |\n|---|---|\n| a | b |\n",
                tests: "| a | `it holds` |\n\n## More\n\n\(testHead)| a | `it holds` |\n"
            ),
            Tree([claims: "# Model\n\n## Who is trusted\n\n| Party |\n|---|\n| all |\n"]),
            Tree(["docs/a.md": "# Page\n\n## Section\n\n| Test |\n|---|\n| none |\n"]),
        ]
    ) { tree in
        let page = tree.file(claims)
        let rows = claimRows("| Attack | Defence |", in: page)
        let testRows = claimRows("| Attack | Test |", in: tree.file(claimTests))
        let names = testNames(of: tree)
        let untrue = testRows.compactMap { row in
            mistake(in: row.cell, tree, names).map { row.finding($0) }
        }
        return sectionsWithoutClaims(of: page, rows)
            + unpaired(rows, with: testRows, of: claimTests)
            + unpaired(testRows, with: rows, of: claims) + untrue
    }

    /// The rows of the tables that begin with this line.
    private static func claimRows(_ head: String, in file: SourceFile?) -> [ClaimRow] {
        guard let file else { return [] }
        var rows: [ClaimRow] = []
        var section = ""
        var isTable = false
        for (index, line) in file.lines.enumerated() {
            if line.hasPrefix("## ") { section = String(line.dropFirst(3)) }
            guard line.hasPrefix("|") else {
                isTable = false
                continue
            }
            if line == head {
                isTable = true
            } else if isTable, !line.hasPrefix("|---") {
                let texts = cells(of: line)
                rows.append(
                    ClaimRow(
                        path: file.path,
                        line: index + 1,
                        section: section,
                        attack: texts.first ?? "",
                        cell: texts.last ?? ""
                    )
                )
            }
        }
        return rows
    }

    private static func cells(of row: String) -> [String] {
        let parts = row.split(separator: "|", omittingEmptySubsequences: false)
        return parts.dropFirst().dropLast().map { part in
            let words = part.split(separator: " ", omittingEmptySubsequences: true)
            return words.joined(separator: " ")
        }
    }

    private static func sectionsWithoutClaims(
        of page: SourceFile?,
        _ rows: [ClaimRow]
    ) -> [Finding] {
        guard let page else { return [] }
        return page.lines.enumerated().compactMap { index, line in
            guard line.hasPrefix("## ") else { return nil }
            let title = String(line.dropFirst(3))
            let hasClaims = rows.contains { $0.section == title }
            guard !hasClaims, !withoutClaims.contains(title) else { return nil }
            let message = "'\(title)' has no row of a table 'Attack | Defence'"
            return Finding(path: page.path, line: index + 1, message: message)
        }
    }

    /// The rows that another one repeats, or that have no row of the same attack in the other file.
    private static func unpaired(
        _ rows: [ClaimRow],
        with others: [ClaimRow],
        of path: String
    ) -> [Finding] {
        rows.compactMap { row in
            if rows.contains(where: { $0.line < row.line && $0.isSameAttack(as: row) }) {
                return row.finding("'\(row.attack)' is there twice")
            }
            guard !others.contains(where: { $0.isSameAttack(as: row) }) else { return nil }
            return row.finding("'\(row.attack)' has no row under '\(row.section)' in \(path)")
        }
    }

    /// The mistake in a cell that names tests, in backticks and with commas between them.
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

    /// The tests of the program: those of the rules have examples with names of tests.
    private static let claimingTests = PathSet {
        PathSet.swiftTests.contains($0) && !$0.hasPrefix("Tests/TidyTests/")
    }

    /// The names of the tests in Swift.
    private static func testNames(of tree: Tree) -> Set<String> {
        let opening = "func `"
        return Set(
            tree.files(in: claimingTests).flatMap(\.lines).compactMap { line in
                guard let start = line.firstRange(of: opening),
                    !line.drop(while: { $0 == " " }).hasPrefix("//")
                else { return nil }
                return String(line[start.upperBound...].prefix { $0 != "`" })
            }
        )
    }

    private static let testHead = "| Attack | Test |\n|---|---|\n"

    private static func claimPage(_ rows: String) -> String {
        "# Model\n\n## Attacks\n\n| Attack | Defence |\n|---|---|\n\(rows)"
    }

    private static func claimTree(_ cell: String) -> Tree {
        claimTree(rows: "| a | b |\n", tests: "| a | \(cell) |\n")
    }

    private static func claimTree(rows: String, tests: String) -> Tree {
        Tree([
            claims: claimPage(rows),
            claimTests: "# Tests\n\n## Attacks\n\n\(testHead)\(tests)",
            "Tests/ATests/A.swift": "    @Test func `it holds`() {}\n    // func `it held`() {}\n",
            "Tests/a.py": "CHECKS = {\"holds\": holds, \"what is checked\": look}\n",
            "Tests/a.sh": "case $1 in\n    case) run ;;\nesac\n",
        ])
    }
}

/// A row of a table of attacks: of the threat model, or of the tests of its claims.
private struct ClaimRow {
    let path: String
    let line: Int
    let section: String
    let attack: String
    /// The defence, or the names of the tests.
    let cell: String

    func isSameAttack(as other: ClaimRow) -> Bool {
        section == other.section && attack == other.attack
    }

    func finding(_ message: String) -> Finding {
        Finding(path: path, line: line, message: message)
    }
}
