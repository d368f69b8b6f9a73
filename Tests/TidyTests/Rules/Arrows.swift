extension Rule {
    /// Which targets of ours a target may import.
    ///
    /// Arrows go down only; `docs/ARCHITECTURE.md` draws them.
    static let mayImport: [String: Set<String>] = [
        "CLatchkeyHTTP": ["CMicrohttpd"],
        "CLatchkeySystem": [],
        "CMicrohttpd": [],
        "CYajl": [],
        "LatchkeySync": ["CLatchkeySystem"],
        "LatchkeySyncTesting": ["LatchkeySync"],
        "LatchkeyMetrics": ["CLatchkeySystem"],
        "LatchkeyContention": ["CLatchkeySystem", "LatchkeyMetrics", "LatchkeySync"],
        "LatchkeyStore": ["CYajl", "LatchkeyContention", "LatchkeySync"],
        "LatchkeyHTTP": ["CLatchkeyHTTP"],
        "LatchkeyComparison": ["CLatchkeySystem", "LatchkeyContention", "LatchkeySync"],
        "LatchkeyService": [
            "CLatchkeySystem", "LatchkeyContention", "LatchkeyHTTP", "LatchkeyMetrics",
            "LatchkeyStore", "LatchkeySync",
        ],
        // The command line names choices and bounds that belong to the modules below.
        "latchkey": [
            "LatchkeyComparison", "LatchkeyContention", "LatchkeyService", "LatchkeyStore",
            "LatchkeySync",
        ],
    ]

    static let arrows = Rule(
        "imports follow the arrows",
        files: .swiftSources,
        broken: [
            Tree(["Sources/LatchkeySync/A.swift": "import LatchkeyStore\n"]),
            Tree(["Sources/LatchkeyHTTP/A.swift": "package import struct LatchkeyStore.A\n"]),
            Tree(["Sources/LatchkeyStore/A.swift": "import CLatchkeySystem\n"]),
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
        let libraries = ["microhttpd.h": "CMicrohttpd", "yajl/yajl_parse.h": "CYajl"]
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
