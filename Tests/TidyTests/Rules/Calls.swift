extension Rule {
    static let forcing = Rule(
        "nothing is forced in Sources: no try!, no as!, no unwrapping by !",
        files: .swiftSources,
        broken: [
            Tree(["Sources/A/A.swift": "let a = try! f()\n"]),
            Tree(["Sources/A/A.swift": "let a = b as! Int\n"]),
            Tree(["Sources/A/A.swift": "let a = b[0]!.c\n"]),
            Tree(["Sources/A/A.swift": "var a: Int!\n"]),
        ],
        kept: [
            Tree(["Sources/A/A.swift": "if !a, b != c { print(\"try! it\") }  // as! ever\n"])
        ]
    ) { file in
        file.code.enumerated().compactMap { index, line in
            forces(line) ? (index + 1, "forces a value that may not be there") : nil
        }
    }

    /// Whether a `!` follows an operand.
    private static func forces(_ line: String) -> Bool {
        let characters = Array(line)
        return characters.indices.dropFirst().contains { index in
            guard characters[index] == "!" else { return false }
            let before = characters[index - 1]
            let after = index + 1 < characters.count ? characters[index + 1] : " "
            let followsOperand =
                before.isLetter || before.isNumber || "_)]}?>`".contains(before)
            return followsOperand && after != "="
        }
    }

    static let sleeping = Rule(
        "a test waits for what happens, it does not sleep",
        files: .swiftTests,
        broken: [
            Tree(["Tests/ATests/A.swift": "        usleep(1000)\n"]),
            Tree(["Tests/ATests/A.swift": "        try await Task.sleep(for: .seconds(1))\n"]),
            Tree(["Tests/ATests/A.swift": "        Thread.sleep(forTimeInterval: 1)\n"]),
        ],
        kept: [
            Tree(["Tests/ATests/A.swift": "        arrived.wait()\n"]),
            Tree([
                "Tests/ATests/A.swift": """
                        // Sleeps because a child process has no other sign to give.
                        usleep(1000)

                """
            ]),
        ]
    ) { file in
        file.code.enumerated().compactMap { index, line in
            guard line.contains("sleep("),
                !file.commentAbove(index).contains("Sleeps because")
            else { return nil }
            return (index + 1, "a sleep without a comment \"Sleeps because …\" above it")
        }
    }

    static let markers = Rule(
        "work that is left names its issue",
        files: .all,
        broken: [
            Tree(["Sources/A/A.swift": "// TO" + "DO: later\n"]),
            Tree(["docs/a.md": "FIX" + "ME\n"]),
        ],
        kept: [
            Tree(["Sources/A/A.swift": "// TO" + "DO(#12): later\n"]),
            Tree(["Sources/A/A.swift": "let MASTODON = 1\n"]),
        ]
    ) { file in
        file.lines.enumerated().compactMap { index, line in
            for marker in ["TO" + "DO", "FIX" + "ME", "XX" + "X"] where line.contains(marker) {
                let words = line.split { !$0.isLetter && $0 != "(" && $0 != "#" }
                if words.contains(where: { $0 == marker || $0.hasPrefix(marker + "(") }),
                    !line.contains(marker + "(#")
                {
                    return (index + 1, "\(marker) without an issue")
                }
            }
            return nil
        }
    }
}
