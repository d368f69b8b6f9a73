extension Rule {
    /// The targets of this package that a target may import.
    ///
    /// Arrows go down only; `docs/ARCHITECTURE.md` draws them.
    static let mayImport: [String: Set<String>] = [
        "CCurl": [],
        "CLatchkeyCounting": [],
        "CLatchkeyFetch": ["CCurl"],
        "CLatchkeyHTTP": ["CMicrohttpd"],
        "CLatchkeyLoad": [],
        "CLatchkeyMachine": [],
        "CLatchkeySystem": [],
        "CMicrohttpd": [],
        "CYajl": [],
        "LatchkeySettings": [],
        "LatchkeyTrace": [],
        "LatchkeySync": ["CLatchkeySystem"],
        "LatchkeyStrategies": ["LatchkeySync"],
        "LatchkeySyncTesting": ["LatchkeySync"],
        "LatchkeyMachine": ["CLatchkeyMachine", "CLatchkeySystem"],
        "LatchkeyMetrics": ["CLatchkeySystem"],
        "LatchkeyContention": ["CLatchkeySystem", "LatchkeyMetrics", "LatchkeySync"],
        "LatchkeyMetering": ["LatchkeyContention", "LatchkeySync"],
        "LatchkeyStore": ["CLatchkeySystem", "CYajl", "LatchkeySettings", "LatchkeySync"],
        "LatchkeyOperations": [
            "CLatchkeyFetch", "LatchkeySettings", "LatchkeyStore", "LatchkeySync",
        ],
        "LatchkeyHTTP": ["CLatchkeyHTTP", "CLatchkeySystem", "LatchkeySettings"],
        "LatchkeyComparison": [
            "CLatchkeyLoad", "CLatchkeyMachine", "CLatchkeySystem", "LatchkeyContention",
            "LatchkeyMachine",
            "LatchkeyMetrics", "LatchkeySettings", "LatchkeyStrategies", "LatchkeyTrace",
        ],
        "LatchkeyReport": ["LatchkeyComparison", "LatchkeyMachine", "LatchkeyStrategies"],
        "LatchkeyService": [
            "CLatchkeySystem", "LatchkeyContention", "LatchkeyHTTP", "LatchkeyMachine",
            "LatchkeyMetrics", "LatchkeyOperations", "LatchkeySettings", "LatchkeyStore",
            "LatchkeyStrategies", "LatchkeyTrace",
        ],
        "LatchkeyCommandLine": [
            "LatchkeyComparison", "LatchkeyMachine", "LatchkeyReport", "LatchkeySettings",
            "LatchkeyTrace",
        ],
        "LatchkeyLab": [
            "CLatchkeyCounting", "LatchkeyCommandLine", "LatchkeyComparison",
            "LatchkeyStrategies",
        ],
        // The command line names choices and bounds that belong to the modules below.
        "latchkey": [
            "LatchkeyCommandLine", "LatchkeyComparison", "LatchkeyContention",
            "LatchkeyOperations", "LatchkeyReport", "LatchkeyService", "LatchkeySettings",
            "LatchkeyStrategies",
        ],
    ]

    static let arrows = Rule(
        "imports follow the arrows",
        files: .swiftSources,
        broken: [
            Tree(["Sources/LatchkeySync/A.swift": "import LatchkeyStore\n"]),
            Tree(["Sources/LatchkeyHTTP/A.swift": "package import struct LatchkeyStore.A\n"]),
            Tree(["Sources/LatchkeyStore/A.swift": "import CLatchkeyHTTP\n"]),
            Tree(["Sources/LatchkeyNew/A.swift": "import Foundation\n"]),
        ],
        kept: [
            Tree([
                "Sources/LatchkeyStore/A.swift": "import Foundation\npublic import LatchkeySync\n"
            ])
        ]
    ) { file in
        let target = file.target ?? ""
        guard let allowed = mayImport[target] else {
            return [(1, "\(target) is not in the table of arrows")]
        }
        return file.code.enumerated().compactMap { index, line in
            guard let module = importedModule(line), mayImport[module] != nil,
                module != target, !allowed.contains(module)
            else { return nil }
            return (index + 1, "\(target) may not import \(module)")
        }
    }

    static let usedArrows = Rule(
        "an arrow that Package.swift declares is used",
        broken: [
            Tree([
                "Package.swift": """
                .target(
                    name: "LatchkeyStore",
                    dependencies: ["CYajl", "LatchkeySync"]
                ),

                """,
                "Sources/LatchkeyStore/A.swift": "internal import CYajl\n// import LatchkeySync\n",
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
                .testTarget(
                    name: "LatchkeyStoreTests",
                    dependencies: [
                        "LatchkeyStore",
                    ]
                ),

                """,
                "Sources/CLatchkeyHTTP/a.c": "#include <microhttpd.h>\n",
                "Tests/LatchkeyStoreTests/A.swift": "@testable import LatchkeyStore\n",
            ])
        ]
    ) { tree in
        guard let package = tree.file("Package.swift") else { return [] }
        return declaredArrows(package).filter { arrow in
            !tree.files.contains { file in
                file.path.hasPrefix(arrow.folder + "/")
                    && file.code.contains {
                        importedModule($0) == arrow.module
                            || includedLibrary($0) == arrow.module
                    }
            }
        }.map { arrow in
            Finding(
                path: package.path,
                line: arrow.line,
                message: "nothing in \(arrow.folder) imports \(arrow.module)"
            )
        }
    }

    private struct DeclaredArrow {
        var line: Int
        var folder: String
        var module: String
    }

    /// The dependencies of all targets, in the layout that the formatter gives them.
    private static func declaredArrows(_ package: SourceFile) -> [DeclaredArrow] {
        var found: [DeclaredArrow] = []
        var first = 0
        var folder = ""
        var isInside = false
        for (index, line) in package.lines.enumerated() {
            let quoted = line.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
                .filter { $0.offset % 2 == 1 }.map { String($0.element) }
            if line.contains("arget("), !line.contains("Library") { first = found.count }
            if line.contains("name: \""), let name = quoted.first {
                folder = (name.hasSuffix("Tests") ? "Tests/" : "Sources/") + name
            }
            if line.contains("dependencies: [") { isInside = true }
            if isInside {
                let list = quoted.drop { line.contains("name: \"") && folder.hasSuffix("/" + $0) }
                for module in list where !module.contains("/") {
                    found.append(DeclaredArrow(line: index + 1, folder: folder, module: module))
                }
                isInside = !line.contains("]")
            }
            if line.contains("path: \""), let path = quoted.last {
                for place in first..<found.count { found[place].folder = path }
            }
        }
        return found
    }

    /// The system library that a line of C includes.
    private static func includedLibrary(_ line: String) -> String? {
        libraries.first { line.hasPrefix("#include <\($0.key)>") }?.value
    }

    private static let libraries = [
        "curl/curl.h": "CCurl", "microhttpd.h": "CMicrohttpd", "yajl/yajl_parse.h": "CYajl",
    ]

    static let cIncludes = Rule(
        "a C target includes its own headers and the one library it wraps",
        broken: [
            Tree(["Sources/CLatchkeySystem/a.c": "#include <microhttpd.h>\n"]),
            Tree(["Sources/CLatchkeyHTTP/a.c": "#include <yajl/yajl_parse.h>\n"]),
            Tree(["Sources/CLatchkeyHTTP/a.c": "#include \"CLatchkeySystem.h\"\n"]),
        ],
        kept: [
            Tree([
                "Sources/CLatchkeyHTTP/include/CLatchkeyHTTP.h": "#include <stdint.h>\n",
                "Sources/CLatchkeyHTTP/a.c": """
                #include <microhttpd.h>
                #include "CLatchkeyHTTP.h"

                """,
            ])
        ]
    ) { tree in
        tree.files(in: .cSources).flatMap { file in
            badIncludes(of: file, in: tree)
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

    private static func badIncludes(of file: SourceFile, in tree: Tree) -> [Finding] {
        let target = file.target ?? ""
        return file.lines.enumerated().compactMap { index, line in
            guard line.hasPrefix("#include") else { return nil }
            let name = line.split { "<>\"".contains($0) }.dropFirst().first.map(String.init) ?? ""
            let isOwn = tree.files.contains {
                $0.path.hasPrefix("Sources/\(target)/") && $0.path.hasSuffix("/" + name)
            }
            let isAllowed =
                if line.contains("\"") {
                    isOwn
                } else if let wrapper = libraries[name] {
                    target == wrapper || mayImport[target]?.contains(wrapper) == true
                } else {
                    true
                }
            return isAllowed
                ? nil
                : Finding(path: file.path, line: index + 1, message: "may not include \(name)")
        }
    }
}
