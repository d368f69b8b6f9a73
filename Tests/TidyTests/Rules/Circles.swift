extension Rule {
    /// How many files of a target may stand in one circle of uses.
    private static let circleFilesMax = 6

    static let circles = Rule(
        "no folders of a target stand in a circle of uses, and no more than 6 files",
        broken: [
            planted((1...7).map { ("A\($0).swift", "struct A\($0) { let a: A\($0 % 7 + 1)? }\n") }),
            planted([
                ("X/A.swift", "struct A { let b: B? }\n"), ("Y/B.swift", "class B { var a: A }\n"),
            ]),
            planted([
                ("X/A.swift", "struct A {\n    let b = 0...B.c\n}\n"),
                ("Y/B.swift", "struct B {\n    let a: A\n}\n"),
            ]),
            planted([
                ("x/a.c", "int latchkey_a(void) {\n    return latchkey_b();\n}\n"),
                ("y/b.c", "int latchkey_b(void) {\n    return latchkey_a();\n}\n"),
            ]),
            planted([
                ("x/a.c", "struct b *a;\n"), ("y/b.c", "int c = LIMIT;\nint latchkey_b(void) {\n"),
                ("x/a.h", "int latchkey_a(void);\n"), ("y/b.h", "struct b {\n"),
                ("x/d.c", "void latchkey_d(void) {\n    latchkey_b();\n"),
                ("y/e.c", "void latchkey_e(void) {\n    latchkey_d();\n"),
            ]),
        ],
        kept: [
            planted((1...6).map { ("A\($0).swift", "struct A\($0) { let a: A\($0 % 6 + 1)? }\n") }),
            planted([
                ("X/A.swift", "// Like B.\nstruct A {}\n"),
                ("Y/B.swift", "struct B { var a: A }\n"),
                ("X/D.swift", "extension A {\n    struct B {\n        let b: A.B?\n    }\n}\n"),
                ("Z/C.swift", "private struct C { let a = \"B\" }\n"),
                ("X/C.swift", "private struct C {}\n"), ("shared.h", "struct shared {\n"),
                ("x/a.c", "struct shared *latchkey_a(void) {\n"),
                ("y/b.c", "static int local(void) {\n    latchkey_a();\n}\n"),
            ]),
        ]
    ) { circleFindings($0) }

    private static func planted(_ files: [(name: String, text: String)]) -> Tree {
        let declaration = ("Package.swift", ".target(name: \"T\"),\n")
        return Tree([declaration] + files.map { ("Sources/T/" + $0.name, $0.text) })
    }

    static func circleFindings(_ tree: Tree) -> [Finding] {
        let targets = DeclaredTarget.all(in: tree).filter { $0.folder.hasPrefix("Sources/") }
        return targets.flatMap { target in
            let files = Uses(of: target, in: tree)
            let folders = Uses(betweenFoldersOf: files)
            let inFiles = files.circles.filter { $0.count > circleFilesMax }.map { circle in
                "\(circle.count) files use each other, as \(files.way(around: circle))"
            }
            let inFolders = folders.circles.map { circle in
                "\(circle.count) folders use each other, as \(folders.way(around: circle))"
            }
            return (inFiles + inFolders).map { message in
                Finding(path: target.folder, line: 1, message: message)
            }
        }
    }
}
