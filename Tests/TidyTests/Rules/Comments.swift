extension Rule {
    /// What makes or holds a thread, an atomic, a queue or a function that C calls.
    private static let concurrentParts = [
        "Atomic<", "Atomic(", "pthread_", "DispatchQueue(", "DispatchSemaphore(", "Thread {",
        "Thread(", "@convention(c)", "Unmanaged<",
    ]

    static let designs = Rule(
        "a file with threads, atomics or C callbacks says its Design",
        files: .sources,
        broken: [
            Tree(["Sources/A/A.swift": "let word = Atomic<Int>(0)\n"]),
            Tree(["Sources/A/A.swift": "/// A queue.\nlet queue = DispatchQueue(label: \"a\")\n"]),
            Tree(["Sources/CA/a.c": "static pthread_mutex_t lock;\n"]),
        ],
        kept: [
            Tree(["Sources/CA/a.h": "void *f(void);\n"]),
            Tree(["Sources/A/A.swift": "/// **Design.** One word.\nlet word = Atomic<Int>(0)\n"]),
            Tree(["Sources/A/A.swift": "/// Not an `Atomic<Int>`.\nlet word = 0\n"]),
            Tree(["Sources/CA/a.c": "// Design: one lock.\nstatic pthread_mutex_t lock;\n"]),
        ]
    ) { file in
        let design = PathSet.isSwift(file.path) ? "**Design" : "Design"
        guard !file.text.contains(design) else { return [] }
        let line = file.code.firstIndex { line in concurrentParts.contains(where: line.contains) }
        return line.map { [($0 + 1, "concurrency without a paragraph \(design)")] } ?? []
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
    /// The comment that ends above the declaration or statement at `line`; lines of attributes and
    /// the earlier lines of the same declaration may stand in between.
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
