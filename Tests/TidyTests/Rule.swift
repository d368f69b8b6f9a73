import Testing

/// A rule of this package, with examples of trees that break it and of trees that keep it.
///
/// The examples prove that the rule can fail. One test runs every rule over its examples, another
/// over the real tree.
struct Rule: Sendable, CustomTestStringConvertible {
    let name: String
    let broken: [Tree]
    let kept: [Tree]
    let findings: @Sendable (Tree) -> [Finding]

    var testDescription: String { name }

    init(
        _ name: String,
        broken: [Tree],
        kept: [Tree],
        findings: @escaping @Sendable (Tree) -> [Finding]
    ) {
        self.name = name
        self.broken = broken
        self.kept = kept
        self.findings = findings
    }

    /// A rule that looks at one file at a time.
    init(
        _ name: String,
        files: PathSet,
        broken: [Tree],
        kept: [Tree],
        lines: @escaping @Sendable (SourceFile) -> [(line: Int, message: String)]
    ) {
        self.init(name, broken: broken, kept: kept) { tree in
            tree.files(in: files).flatMap { file in
                lines(file).map { Finding(path: file.path, line: $0.line, message: $0.message) }
            }
        }
    }

    static let all: [Rule] = [
        arrows, targetTable, usedArrows, lockLibraries, cIncludes, circles, houses, folderOrder,
        logLines,
        lineLength, functionLength, fileLength, forcing,
        sleeping, markers, designs, safety, cSymbols, machinePaths, registryHosts, links, words,
        subjects,
        olderSystems, strategyNames, strategyChoices, changelog, strictness, testNames,
        testedClaims, locales, time,
    ]
}

/// A place that breaks a rule.
///
/// Lines are counted from 1.
struct Finding: CustomStringConvertible {
    let path: String
    let line: Int
    let message: String

    var description: String { "\(path):\(line): \(message)" }
}
