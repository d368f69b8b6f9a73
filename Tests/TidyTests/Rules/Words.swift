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

    /// A comment that begins with "What" or "Who" and is no question has no noun as its subject.
    static let subjects = Rule(
        "a comment begins with a noun, and not with 'what' or 'who'",
        files: PathSet { PathSet.isSwift($0) || PathSet.isC($0) },
        broken: [
            Tree(["Sources/A/A.swift": "/// Wh" + "at an import is answered with.\n"]),
            Tree(["Sources/CA/a.c": "    // Wh" + "o waits is woken.\n"]),
            Tree(["Tests/ATests/A.swift": "    /// - a: Wh" + "at is read.\n"]),
        ],
        kept: [
            Tree(["Sources/A/A.swift": "/// The answer to an import.\n// Who waits? No thread.\n"]),
            Tree(["Sources/A/A.swift": "let a = \"What is it\" // a text\n"]),
        ]
    ) { file in
        file.lines.enumerated().compactMap { index, line in
            let text = line.drop { $0 == " " }
            guard text.hasPrefix("//"), !line.contains("?") else { return nil }
            let words = text.drop { "/ ".contains($0) }
            let parameter = words.hasPrefix("- ") ? words.split(separator: ": ").last : nil
            let first = (parameter ?? words).prefix { $0.isLetter }
            guard ["What", "Who", "Whom", "Whoever"].contains(first) else { return nil }
            return (index + 1, "'\(first)' is no subject: name the thing")
        }
    }
}
