extension Rule {
    static let folderOrder = Rule(
        "a folder of a C target uses only folders that its internal.h names before it",
        broken: [
            orderedFolders([("low/a.c", "int latchkey_a(void) {\n    return latchkey_b();\n}\n")]),
            orderedFolders([("low/a.h", "struct a {\n    struct b *b;\n"), ("low/a.c", "")]),
            orderedFolders([("new/c.c", "int latchkey_c(void) {\n    return latchkey_b();\n}\n")]),
        ],
        kept: [
            orderedFolders([
                ("low/a.c", "int latchkey_a(void) {\n}\n"),
                ("high/c.c", "int latchkey_c(void) {\n    latchkey_a();\n    latchkey_b();\n}\n"),
            ])
        ]
    ) { tree in
        DeclaredTarget.all(in: tree).flatMap { target -> [Finding] in
            guard let header = tree.file(target.folder + "/internal.h") else { return [] }
            let folders = Uses(betweenFoldersOf: Uses(of: target, in: tree))
            let order = order(header)
            func place(_ folder: String) -> Int { order.firstIndex(of: folder) ?? -1 }
            return folders.arrows.sorted { $0.key < $1.key }.flatMap { folder, used in
                used.filter { place($0.key) >= place(folder) || place($0.key) < 0 }.map { up in
                    let message = "\(folder) uses \(up.value) of \(up.key), which is not below it"
                    return Finding(path: header.path, line: 1, message: message)
                }
            }
        }
    }

    /// The folders that a header names before its design, the lowest first.
    private static func order(_ header: SourceFile) -> [String] {
        header.lines.prefix { $0 != "// Design" }.flatMap { line in
            line.split { " ,.".contains($0) }.filter { $0.last == "/" && $0 != "//" }.map {
                String($0.dropLast())
            }
        }
    }

    private static func orderedFolders(_ files: [(name: String, text: String)]) -> Tree {
        let texts = [
            ("Sources/T/internal.h", "// Each uses only those before it: low/ (one), high/.\n"),
            ("Sources/T/high/b.c", "int latchkey_b(void) {\n}\n"),
            ("Sources/T/high/b.h", "struct b {\n"),
        ]
        let declaration = ("Package.swift", ".target(name: \"T\"),\n")
        return Tree([declaration] + texts + files.map { ("Sources/T/" + $0.name, $0.text) })
    }
}
