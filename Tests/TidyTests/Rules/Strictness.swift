extension Rule {
    /// Files that build the package for us, and so have to say that a warning is an error.
    private static let ownBuilds = ["Makefile", "Dockerfile"]

    static let strictness = Rule(
        "a warning is an error in our own builds",
        broken: [
            Tree([
                "Package.swift": "let isStrict = Context.environment[\"STRICT\"] != nil\n",
                "Makefile": "build:\n\tswift build\n",
            ]),
            Tree(["Package.swift": "let settings: [SwiftSetting] = []\n"]),
            Tree([
                "Package.swift": "let isStrict = Context.environment[\"STRICT\"] != nil\n",
                "Dockerfile": "# STRICT=1\nRUN swift build\n",
            ]),
        ],
        kept: [
            Tree([
                "Package.swift": "let isStrict = Context.environment[\"STRICT\"] != nil\n",
                "Makefile": "export STRICT := 1\n",
                "Dockerfile": "ENV STRICT=1\n",
            ])
        ]
    ) { tree in
        guard let package = tree.file("Package.swift") else { return [] }
        let opening = "let isStrict = Context.environment[\""
        guard let line = package.lines.first(where: { $0.hasPrefix(opening) }) else {
            return [Finding(path: package.path, line: 1, message: "nothing makes warnings errors")]
        }
        let variable = line.dropFirst(opening.count).prefix { $0 != "\"" }
        return ownBuilds.compactMap(tree.file).filter { file in
            !file.lines.contains {
                $0.hasPrefix("export \(variable) :=") || $0.hasPrefix("ENV \(variable)=")
            }
        }.map { Finding(path: $0.path, line: 1, message: "does not set \(variable)") }
    }

    /// The libraries that are built for Apple's systems, too.
    private static let portable = PathSet { path in
        path.hasPrefix("Sources/library/LatchkeySync")
            || path.hasPrefix("Sources/library/LatchkeyStrategies/")
    }

    static let olderSystems = Rule(
        "what came with macOS 26 is marked, in the libraries that are built there",
        files: portable,
        broken: [
            Tree([
                "Sources/library/LatchkeySync/A.swift":
                    "let a = InlineArray<8, Int>(repeating: 0)\n"
            ]),
            Tree(["Sources/library/LatchkeySyncTesting/A.swift": "Task.immediate {}\n"]),
        ],
        kept: [
            Tree([
                "Sources/library/LatchkeyStrategies/A.swift": """
                @available(macOS 26, *)
                func start() { Task.immediate {} }

                """
            ]),
            Tree(["Sources/library/LatchkeySync/A.swift": "// Not Task.immediate.\n"]),
            Tree(["Sources/service/LatchkeyStore/A.swift": "let a: UTF8Span\n"]),
        ]
    ) { file in
        guard !file.code.contains(where: { $0.contains("available(macOS 26, ") }) else { return [] }
        return file.code.enumerated().compactMap { index, line in
            ["Task.immediate", "InlineArray", "UTF8Span"].first(where: line.contains).map {
                (index + 1, "\($0) needs @available(macOS 26, …)")
            }
        }
    }
}
