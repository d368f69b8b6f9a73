/// How many files of a target may stand in one circle of uses, and how many of its folders in any.
struct CircleBound {
    var files = 6
    var folders = 0
}

/// Targets that are over the bound, with what they have.
///
/// A number only goes down, and a target that keeps the bound leaves the list.
let circleBounds: [String: CircleBound] = [
    "LatchkeyStore": CircleBound(files: 27),
]

extension Rule {
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
    ) { circleFindings($0, bounds: circleBounds) }

    private static func planted(_ files: [(name: String, text: String)]) -> Tree {
        let declaration = ("Package.swift", ".target(name: \"T\"),\n")
        return Tree([declaration] + files.map { ("Sources/T/" + $0.name, $0.text) })
    }

    static func circleFindings(_ tree: Tree, bounds: [String: CircleBound]) -> [Finding] {
        let targets = DeclaredTarget.all(in: tree).filter { $0.folder.hasPrefix("Sources/") }
        return targets.flatMap { target in
            let files = Uses(of: target, in: tree)
            let folders = Uses(betweenFoldersOf: files)
            let bound = bounds[target.name] ?? CircleBound()
            let inFiles = files.circles.first ?? []
            let inFolders = folders.circles
            let found = CircleBound(
                files: max(inFiles.count, CircleBound().files),
                folders: inFolders.map(\.count).reduce(0, +)
            )
            var messages: [String] = []
            if found.files > bound.files {
                let way = files.way(around: inFiles)
                messages.append("\(inFiles.count) files use each other, as \(way)")
            }
            if found.folders > bound.folders {
                let ways = inFolders.map(folders.way).joined(separator: "; ")
                messages.append("\(found.folders) folders use each other, as \(ways)")
            }
            if found.files < bound.files || found.folders < bound.folders {
                messages.append(
                    "the bound is \(bound) in Rules/Circles.swift, lower it to \(found)"
                )
            }
            return messages.map { message in
                Finding(path: target.folder, line: 1, message: message)
            }
        }
    }
}
