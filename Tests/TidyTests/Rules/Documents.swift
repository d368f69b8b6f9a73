extension Rule {
    static let links = Rule(
        "a link inside the documentation leads somewhere",
        broken: [
            Tree(["docs/a.md": "See [b](b.md).\n"]),
            Tree(["docs/a.md": "# One\n\n[two](#two)\n"]),
            Tree(["README.md": "[a](docs/a.md#x)\n", "docs/a.md": "# Y\n"]),
        ],
        kept: [
            Tree([
                "README.md": "[a](docs/a.md#a-b-c) [web](https://www.rfc-editor.org/)\n",
                "docs/a.md": "# A `b` C?\n\n[up](../README.md) [here](#a-b-c) [all](../docs)\n",
            ]),
            Tree(["docs/a.md": "```swift\nlet a = f[0](b)\n```\n"]),
        ]
    ) { tree in
        tree.files(in: .markdown).flatMap { file in
            linksOutsideCode(of: file).compactMap { line, link in
                resolves(link, from: file, in: tree)
                    ? nil : Finding(path: file.path, line: line, message: "dead link \(link)")
            }
        }
    }

    private static func linksOutsideCode(of file: SourceFile) -> [(line: Int, link: String)] {
        var isCode = false
        return file.lines.enumerated().flatMap { index, line -> [(Int, String)] in
            if line.hasPrefix("```") { isCode.toggle() }
            guard !isCode else { return [] }
            return line.split(separator: "](", omittingEmptySubsequences: false).dropFirst()
                .compactMap { rest in
                    rest.firstIndex(of: ")").map { (index + 1, String(rest[..<$0])) }
                }
        }
    }

    private static func resolves(_ link: String, from file: SourceFile, in tree: Tree) -> Bool {
        if link.contains("://") || link.hasPrefix("mailto:") { return true }
        let parts = link.split(separator: "#", omittingEmptySubsequences: false).map(String.init)
        var folders = file.path.split(separator: "/").dropLast()
        for step in parts[0].split(separator: "/") where step != "." {
            if step == ".." { _ = folders.popLast() } else { folders.append(step) }
        }
        let path = parts[0].isEmpty ? file.path : folders.joined(separator: "/")
        guard tree.has(path) else { return false }
        guard parts.count > 1, let target = tree.file(path) else { return true }
        return anchors(of: target).contains(parts[1])
    }

    /// The anchors that the headings of a Markdown file get: lower case, spaces as hyphens, other
    /// punctuation left out.
    private static func anchors(of file: SourceFile) -> [String] {
        file.lines.filter { $0.hasPrefix("#") }.map { heading in
            let title = heading.drop { $0 == "#" }.dropFirst().lowercased()
            return String(title.map { $0 == " " ? "-" : $0 }.filter(isAnchorCharacter))
        }
    }

    private static func isAnchorCharacter(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || "-_".contains(character)
    }

    static let strategyNames = Rule(
        "every strategy is named in the README and in docs/strategies.md",
        broken: [
            Tree([
                "Sources/library/LatchkeySync/StrategyKind.swift": "    case spin = \"spin\"\n",
                "README.md": "| `lock` | spins |\n",
            ])
        ],
        kept: [
            Tree([
                "Sources/library/LatchkeySync/StrategyKind.swift": "    case spin = \"spin\"\n",
                "README.md": "| `spin` | spins |\n",
            ])
        ]
    ) { tree in
        let kinds = tree.file("Sources/library/LatchkeySync/StrategyKind.swift")?.lines ?? []
        let names = kinds.compactMap { line -> Substring? in
            let parts = line.split(separator: "\"")
            return parts.count > 1 && line.contains("case ") ? parts[1] : nil
        }
        return ["README.md", "docs/strategies.md"].compactMap(tree.file).flatMap { page in
            names.filter { !page.text.contains("`\($0)`") }.map { name in
                Finding(path: page.path, line: 1, message: "does not name `\(name)`")
            }
        }
    }

    private static let release = "## 1.0.0\n\n### Added\n\n- A.\n"
    private static let next = "## Unreleased\n\n### Added\n\n- B.\n"

    private static func program(_ version: String) -> String {
        "package let latchkeyVersion = \"\(version)\"\n"
    }

    static let changelog = Rule(
        "the changelog lists each release, and the program is of the newest one or the next",
        broken: [
            Tree(["CHANGELOG.md": "# Changelog\n\n## 1.0.0\n\nThings.\n"]),
            Tree(["CHANGELOG.md": "# Changelog\n\n## 1.0.0\n\n### News\n\n- A.\n"]),
            Tree(["CHANGELOG.md": release, Tree.versionPath: program("1.1.0")]),
            Tree(["CHANGELOG.md": next + release, Tree.versionPath: program("1.0.0")]),
            Tree(["CHANGELOG.md": next + release, Tree.versionPath: program("0.10.0")]),
        ],
        kept: [
            Tree(["CHANGELOG.md": release, Tree.versionPath: program("1.0.0")]),
            Tree(["CHANGELOG.md": next + release, Tree.versionPath: program("1.1.0")]),
            Tree(["CHANGELOG.md": next, Tree.versionPath: program("0.1.0")]),
        ]
    ) { tree in
        guard let file = tree.file("CHANGELOG.md") else { return [] }
        var findings: [Finding] = []
        let headings = file.lines.enumerated().filter { $0.element.hasPrefix("##") }
        for (index, heading) in headings where heading.hasPrefix("### ") {
            if !["Added", "Changed", "Fixed", "Removed"].contains(heading.dropFirst(4)) {
                findings.append(Finding(path: file.path, line: index + 1, message: heading))
            }
        }
        let releases = headings.map(\.element).filter { $0.hasPrefix("## ") }
        if headings.count < 2 * releases.count || releases.isEmpty {
            findings.append(Finding(path: file.path, line: 1, message: "a release without a list"))
        }
        // The newest release stands first, but for what is not released yet.
        let newest = releases.first { $0 != "## Unreleased" }?.dropFirst(3)
        if let version = tree.version, let newest {
            let isNext = numbers(newest).lexicographicallyPrecedes(numbers(version))
            if releases.first == "## Unreleased" ? !isNext : version != newest {
                let message = "\(version), and the newest release is \(newest)"
                findings.append(Finding(path: Tree.versionPath, line: 1, message: message))
            }
        }
        return findings
    }

    private static func numbers(_ version: some StringProtocol) -> [Int] {
        version.split(separator: ".").map { Int($0) ?? 0 }
    }
}
