extension Rule {
    /// Two targets, of which one uses the other.
    private static let storeOnSync = """
        .target(name: "LatchkeySync"),
        .target(name: "LatchkeyStore", dependencies: ["LatchkeySync"]),

        """

    static let arrows = Rule(
        "a target imports only what Package.swift declares",
        broken: [
            Tree([
                "Package.swift": storeOnSync,
                "Sources/LatchkeySync/A.swift": "package import struct LatchkeyStore.A\n",
            ]),
            Tree([
                "Package.swift": """
                .systemLibrary(name: "CCurl"),
                .executableTarget(name: "Bench", path: "Benchmarks/Bench"),

                """,
                "Benchmarks/Bench/main.swift": "import CCurl\n",
            ]),
            Tree(["Sources/LatchkeyNew/A.swift": "import Foundation\n"]),
        ],
        kept: [
            Tree([
                "Package.swift": storeOnSync,
                "Sources/LatchkeyStore/A.swift": "import Foundation\npublic import LatchkeySync\n",
            ])
        ]
    ) { tree in
        let targets = DeclaredTarget.all(in: tree)
        return tree.files.filter { PathSet.isSwift($0.path) }.flatMap { file -> [Finding] in
            guard let target = targets.first(where: { $0.contains(file) }) else {
                return PathSet.sources.contains(file.path)
                    ? [Finding(path: file.path, line: 1, message: "of no declared target")] : []
            }
            return file.code.enumerated().compactMap { index, line in
                guard let module = importedModule(line), module != target.name,
                    targets.contains(where: { $0.name == module }), !target.dependsOn(module)
                else { return nil }
                let message = "\(target.name) does not declare \(module)"
                return Finding(path: file.path, line: index + 1, message: message)
            }
        }
    }

    static let targetTable = Rule(
        "the architecture lists all targets, each above those that it uses",
        broken: [
            Tree([
                "Package.swift": ".target(name: \"LatchkeySync\"),\n",
                "docs/ARCHITECTURE.md": "| Target |\n|---|\n",
            ]),
            Tree([
                "Package.swift": ".target(name: \"LatchkeySync\"),\n",
                "docs/ARCHITECTURE.md": "| `LatchkeySync` |\n| `LatchkeyGone` |\n",
            ]),
            Tree([
                "Package.swift": storeOnSync,
                "docs/ARCHITECTURE.md": "| `LatchkeySync` |\n| `LatchkeyStore` |\n",
            ]),
        ],
        kept: [
            Tree([
                "Package.swift": """
                .target(name: "LatchkeySync"),
                .target(
                    name: "LatchkeyStore",
                    dependencies: [
                        "LatchkeySync"
                    ]
                ),
                .testTarget(name: "LatchkeySyncTests", dependencies: ["LatchkeySync"]),

                """,
                "docs/ARCHITECTURE.md": "| `LatchkeyStore` |\n| `LatchkeySync` |\n",
            ])
        ]
    ) { tree in
        guard let page = tree.file("docs/ARCHITECTURE.md") else { return [] }
        let targets = DeclaredTarget.all(in: tree).filter { $0.folder.hasPrefix("Sources/") }
        let rows = page.lines.enumerated().filter { $0.element.hasPrefix("| `") }.map { row in
            (name: row.element.split(separator: "`")[1], line: row.offset + 1)
        }
        let places = Dictionary(rows, uniquingKeysWith: min)
        let gone = rows.filter { row in !targets.contains { $0.name == row.name } }.map { row in
            Finding(path: page.path, line: row.line, message: "no target is named \(row.name)")
        }
        return targets.reduce(into: gone) { findings, target in
            guard let place = places[target.name[...]] else {
                let message = "\(target.name) is not in \(page.path)"
                findings.append(Finding(path: "Package.swift", line: target.line, message: message))
                return
            }
            for used in target.dependencies where places[used.name[...], default: .max] < place {
                let message = "\(target.name) is below \(used.name), which it uses"
                findings.append(Finding(path: page.path, line: place, message: message))
            }
        }
    }

    static let usedArrows = Rule(
        "a dependency that Package.swift declares is used",
        broken: [
            Tree([
                "Package.swift": """
                .target(name: "LatchkeyStore", dependencies: ["CCurl", "LatchkeySync"]),

                """,
                "Sources/LatchkeyStore/A.swift": "internal import CCurl\n// import LatchkeySync\n",
            ]),
            Tree([
                "Package.swift": """
                .target(name: "Bench", dependencies: ["LatchkeySync"], path: "Benchmarks/Bench"),

                """,
                "Sources/Bench/main.swift": "import LatchkeySync\n",
            ]),
        ],
        kept: [
            Tree([
                "Package.swift": """
                .target(name: "CLatchkeyHTTP", dependencies: ["CMicrohttpd"]),
                .testTarget(name: "LatchkeyStoreTests", dependencies: ["LatchkeyStore"]),

                """,
                "Sources/CLatchkeyHTTP/a.c": "#include <microhttpd.h>\n",
                "Tests/LatchkeyStoreTests/A.swift": "@testable import LatchkeyStore\n",
            ])
        ]
    ) { tree in
        DeclaredTarget.all(in: tree).flatMap { target in
            let files = tree.files.filter(target.contains)
            return target.dependencies.filter { used in
                !files.contains { file in
                    file.code.contains {
                        importedModule($0) == used.name || includedLibrary($0) == used.name
                    }
                }
            }.map { used in
                let message = "nothing in \(target.folder) imports \(used.name)"
                return Finding(path: "Package.swift", line: used.line, message: message)
            }
        }
    }

    static let lockLibraries = Rule(
        "a library of locks reaches nothing that starts processes or counts system calls",
        broken: [
            Tree([
                "Package.swift": """
                .target(name: "LatchkeyMachine"),
                .target(name: "LatchkeyContention", dependencies: ["LatchkeyMachine"]),
                .target(name: "LatchkeyMetering", dependencies: ["LatchkeyContention"]),

                """,
                "Sources/LatchkeyMachine/A.swift": "let process = Process()\n",
            ])
        ],
        kept: [
            Tree([
                "Package.swift": """
                .target(name: "LatchkeyMachine"),
                .target(name: "LatchkeySync"),
                .target(name: "LatchkeyMetering", dependencies: ["LatchkeySync"]),
                .target(name: "LatchkeyLab", dependencies: ["LatchkeyMachine"]),

                """,
                "Sources/LatchkeyMachine/A.swift": "let process = Process()\n",
            ])
        ]
    ) { tree in
        let targets = DeclaredTarget.all(in: tree)
        let products = [
            "LatchkeyMetering", "LatchkeyStrategies", "LatchkeySync", "LatchkeySyncTesting",
        ]
        var reached = targets.filter { products.contains($0.name) }
        var next = reached[...]
        while let target = next.popFirst() {
            let more = targets.filter { other in
                target.dependsOn(other.name) && !reached.contains { $0.name == other.name }
            }
            reached += more
            next += more
        }
        let calls = ["fork(", "posix_spawn", "execve(", "Process()", "perf_event_open"]
        let files = tree.files.filter { file in reached.contains { $0.contains(file) } }
        return files.flatMap { file in
            file.code.enumerated().compactMap { index, line in
                calls.first(where: line.contains).map {
                    let message = "a library of locks may not call \($0)"
                    return Finding(path: file.path, line: index + 1, message: message)
                }
            }
        }
    }

    /// The system library that a line of C includes.
    private static func includedLibrary(_ line: String) -> String? {
        libraries.first { line.hasPrefix("#include <\($0.key)>") }?.value
    }

    private static let libraries = [
        "curl/curl.h": "CCurl", "microhttpd.h": "CMicrohttpd", "sqlite3.h": "CSQLite",
        "gnutls/crypto.h": "CGnuTLS",
        "gnutls/gnutls.h": "CGnuTLS",
        "nghttp2/nghttp2.h": "CNghttp2",
        "zlib.h": "CZlib",
    ]

    static let cIncludes = Rule(
        "a C target includes its own headers and the one library it wraps",
        broken: [
            Tree(["Sources/CLatchkeySystem/a.c": "#include <microhttpd.h>\n"]),
            Tree(["Sources/CLatchkeyHTTP/a.c": "#include <curl/curl.h>\n"]),
            Tree(["Sources/CLatchkeyHTTP/a.c": "#include \"CLatchkeySystem.h\"\n"]),
        ],
        kept: [
            Tree([
                "Package.swift":
                    ".target(name: \"CLatchkeyHTTP\", dependencies: [\"CMicrohttpd\"]),\n",
                "Sources/CLatchkeyHTTP/include/CLatchkeyHTTP.h": "#include <stdint.h>\n",
                "Sources/CLatchkeyHTTP/a.c": """
                #include <microhttpd.h>
                #include "CLatchkeyHTTP.h"

                """,
            ])
        ]
    ) { tree in
        let targets = DeclaredTarget.all(in: tree)
        return tree.files(in: .cSources).flatMap { file in
            badIncludes(of: file, targets.first { $0.contains(file) }, in: tree)
        }
    }

    private static func importedModule(_ line: String) -> String? {
        let words = line.split(separator: " ")
        guard let keyword = words.firstIndex(of: "import"), keyword + 1 < words.count else {
            return nil
        }
        // `import struct Module.Name` names the kind first.
        return words.last?.split(separator: ".").first.map(String.init)
    }

    private static func badIncludes(
        of file: SourceFile,
        _ target: DeclaredTarget?,
        in tree: Tree
    ) -> [Finding] {
        file.lines.enumerated().compactMap { index, line in
            guard line.hasPrefix("#include") else { return nil }
            let name = line.split { "<>\"".contains($0) }.dropFirst().first.map(String.init) ?? ""
            let isOwn = tree.files.contains {
                $0.target == file.target && $0.path.hasSuffix("/" + name)
            }
            let isAllowed =
                if line.contains("\"") {
                    isOwn
                } else if let wrapper = libraries[name] {
                    file.target == wrapper || target?.dependsOn(wrapper) == true
                } else {
                    true
                }
            return isAllowed
                ? nil
                : Finding(path: file.path, line: index + 1, message: "may not include \(name)")
        }
    }
}
