extension Rule {
    /// Words that most readers know less well, and what to write in their place.
    ///
    /// Split, so that this file keeps the rule.
    private static let rareWords = [
        "no" + "body": "'no client', 'no thread', 'nothing'",
        "for e" + "ver": "'without limit', 'permanently', 'always'",
    ]

    /// The proxies run as the user of that name.
    private static let texts = PathSet { !$0.hasPrefix("Tests/proxies/") }

    static let words = Rule(
        "texts use standard words",
        files: texts,
        broken: [
            Tree(["docs/a.md": "No" + "body waits.\n"]),
            Tree(["Sources/A/A.swift": "// It waits for e" + "ver.\n"]),
        ],
        kept: [Tree(["docs/a.md": "No thread waits, for everything is free.\n"])]
    ) { file in
        file.lines.enumerated().flatMap { index, line in
            let letters = line.lowercased().map { $0.isLetter ? $0 : " " }
            return rareWords.filter { " \(String(letters)) ".contains(" \($0.key) ") }.map {
                (index + 1, "instead of '\($0.key)': \($0.value)")
            }
        }
    }
}
