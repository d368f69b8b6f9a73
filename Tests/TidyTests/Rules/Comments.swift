extension Rule {
    /// Code that makes or holds a thread, an atomic, a queue or a C callback.
    private static let concurrentParts = [
        "Atomic<", "Atomic(", "pthread_", "DispatchQueue(", "DispatchSemaphore(", "Thread {",
        "Thread(", "@convention(c)", "Unmanaged<",
    ]

    /// For a C file, the comment may be in a header of its target.
    static let designs = Rule(
        "a file with threads, atomics or C callbacks says its Design",
        broken: [
            Tree(["Sources/A/A.swift": "let word = Atomic<Int>(0)\n"]),
            Tree(["Sources/A/A.swift": "/// A queue.\nlet queue = DispatchQueue(label: \"a\")\n"]),
            Tree([
                "Sources/CA/a.c": "static pthread_mutex_t lock;\n", "Sources/CB/b.h": "// Design\n",
            ]),
        ],
        kept: [
            Tree([
                "Sources/CA/a.c": "static pthread_mutex_t lock;\n", "Sources/CA/a.h": "// Design\n",
            ]),
            Tree(["Sources/A/A.swift": "/// **Design.** One word.\nlet word = Atomic<Int>(0)\n"]),
            Tree(["Sources/A/A.swift": "/// Not an `Atomic<Int>`.\nlet word = 0\n"]),
            Tree(["Sources/CA/a.c": "// Design: one lock.\nstatic pthread_mutex_t lock;\n"]),
        ]
    ) { tree in
        tree.files(in: .sources).compactMap { file in
            let isSwift = PathSet.isSwift(file.path)
            let line = file.code.firstIndex { line in
                concurrentParts.contains(where: line.contains)
            }
            let places = tree.files.filter { other in
                other.path == file.path
                    || !isSwift && other.target == file.target && other.path.hasSuffix(".h")
            }
            guard let line,
                !places.contains(where: { $0.text.contains(isSwift ? "**Design" : "Design") })
            else { return nil }
            return Finding(path: file.path, line: line + 1, message: "concurrency without a Design")
        }
    }

    static let safety = Rule(
        "what the compiler cannot check has a SAFETY comment above it",
        files: .swiftSources,
        broken: [
            Tree(["Sources/A/A.swift": "final class A: @unchecked Sendable {}\n"]),
            Tree(["Sources/A/A.swift": "/// A.\n@frozen nonisolated(unsafe) var a = 0\n"]),
        ],
        kept: [
            Tree([
                "Sources/A/A.swift": """
                /// A.
                ///
                /// SAFETY: one thread only.
                @safe
                final class A: @unchecked Sendable {}

                """
            ]),
            Tree(["Sources/A/A.swift": "// SAFETY: set once.\nnonisolated(unsafe) var a = 0\n"]),
        ]
    ) { file in
        file.code.enumerated().compactMap { index, line in
            guard line.contains("@unchecked Sendable") || line.contains("nonisolated(unsafe)"),
                !file.commentAbove(index).contains("SAFETY:")
            else { return nil }
            return (index + 1, "no SAFETY comment")
        }
    }
}

extension SourceFile {
    /// The comment above the declaration or statement at `line`.
    ///
    /// Lines of attributes and earlier lines of the same declaration may be between them.
    func commentAbove(_ line: Int) -> String {
        var above = line - 1
        while above >= 0, !lines[above].isBlank, !isComment(above), continuesBelow(above) {
            above -= 1
        }
        var comment: [String] = []
        while above >= 0, isComment(above) {
            comment.insert(lines[above], at: 0)
            above -= 1
        }
        return comment.joined(separator: "\n")
    }

    private func isComment(_ line: Int) -> Bool {
        code[line].isBlank && lines[line].contains("//")
    }

    private func continuesBelow(_ line: Int) -> Bool {
        let text = code[line].trimmingSuffix { $0 == " " }
        return text.drop { $0 == " " }.first == "@" || ",:(<".contains(text.last ?? " ")
    }
}

extension String {
    fileprivate func trimmingSuffix(while predicate: (Character) -> Bool) -> Substring {
        var rest = self[...]
        while let last = rest.last, predicate(last) { rest.removeLast() }
        return rest
    }
}
