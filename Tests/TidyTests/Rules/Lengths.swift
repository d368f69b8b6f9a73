extension Rule {
    static let lineLengthMax = 100
    static let functionLinesMax = 70
    static let fileLinesMax = 400

    /// The start of a comment that says why a file is longer than others.
    static let lengthArgument = "Length:"

    static let lineLength = Rule(
        "a line has at most 100 characters",
        files: .code,
        broken: [
            Tree(["Sources/A/a.c": String(repeating: "x", count: 101) + "\n"]),
            Tree(["scripts/a": "#!/bin/sh\n" + String(repeating: "é", count: 101)]),
        ],
        kept: [Tree(["Sources/A/A.swift": String(repeating: "é", count: 100) + "\n"])]
    ) { file in
        file.lines.enumerated().compactMap { index, line in
            line.count > lineLengthMax ? (index + 1, "\(line.count) characters") : nil
        }
    }

    static let fileLength = Rule(
        "a file has at most 400 lines, or says why not",
        files: .code,
        broken: [Tree(["Sources/A/A.swift": String(repeating: "x\n", count: 401)])],
        kept: [
            Tree(["Sources/A/A.swift": String(repeating: "x\n", count: 400)]),
            Tree([
                "Sources/A/A.swift": "// Length: a table.\n" + String(repeating: "x\n", count: 401)
            ]),
        ]
    ) { file in
        guard file.lines.count > fileLinesMax, !file.text.contains(lengthArgument) else {
            return []
        }
        return [(file.lines.count, "long, without a comment `\(lengthArgument)`")]
    }

    static let functionLength = Rule(
        "a function fits a screen of 70 lines",
        files: .code,
        broken: [
            swiftTree("    func f(\n        a: Int\n    ) {\n", body: 67),
            swiftTree("    init() {\n", body: 69),
            Tree(["Sources/A/a.c": "int f() {\n" + String(repeating: "    x;\n", count: 69) + "}"]),
        ],
        kept: [
            swiftTree("    func f() {\n", body: 68),
            Tree(["Sources/A/A.swift": "protocol P {\n    func f()\n    func g()\n}\n"]),
        ]
    ) { file in
        let starts = PathSet.isC(file.path) ? cFunctionStart : swiftFunctionStart
        return file.code.indices.compactMap { start in
            guard starts(file.code[start]), let end = closingLine(of: start, in: file.code),
                end - start + 1 > functionLinesMax
            else { return nil }
            return (start + 1, "\(end - start + 1) lines in one function")
        }
    }

    private static func swiftTree(_ opening: String, body: Int) -> Tree {
        let lines = String(repeating: "        x()\n", count: body)
        return Tree(["Sources/A/A.swift": "struct A {\n" + opening + lines + "    }\n}\n"])
    }

    private static func swiftFunctionStart(_ line: String) -> Bool {
        let words = line.split { !$0.isLetter }
        return words.contains("func") || words.contains("init") || words.contains("subscript")
    }

    private static func cFunctionStart(_ line: String) -> Bool {
        line.indentation == 0 && line.contains("(") && line.first?.isLetter == true
    }

    /// The last line of the body of the declaration at `start`.
    ///
    /// The formatter puts the closing brace under the start of the declaration. The lines between
    /// them are indented more, or continue the head of the declaration.
    private static func closingLine(of start: Int, in code: [String]) -> Int? {
        let indentation = code[start].indentation
        for line in code.indices.dropFirst(start + 1) where !code[line].isBlank {
            if code[line].indentation > indentation { continue }
            let first = code[line].dropFirst(code[line].indentation)
            if code[line].indentation < indentation { return nil }
            if first.hasPrefix("}") { return line }
            guard [")", "where", "{", "#"].contains(where: first.hasPrefix) else { return nil }
        }
        return nil
    }
}
