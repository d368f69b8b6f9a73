extension Rule {
    /// A warning or an error has one of these, of which the last ones are made elsewhere.
    private static let reasons = ["\"reason\"", "\"advice\"", "logFields", "fields", "$0)"]

    static let logLines = Rule(
        "a warning or an error in the log says why, or what to do",
        broken: [
            Tree(["Sources/T/A.swift": "log.write(.warning, \"lost\", [\"count\": \"1\"])\n"]),
            Tree([
                "Sources/T/A.swift": """
                log.write(
                    isLow ? .error : .info,
                    "low"
                )
                let reason = "reason"

                """
            ]),
            Tree(["Sources/T/A.swift": "loop.log(true, \"hangs\", [])\n"]),
        ],
        kept: [
            Tree([
                "Sources/T/A.swift": """
                log.write(.info, "serving", ["port": "\\(port)"])
                log.write(
                    .error,
                    "not read",
                    ["reason": error.message]
                )
                loop.log(true, "hangs", [("advice", "wait")])
                loop.log(false, "answers", [])

                """
            ])
        ]
    ) { tree in
        tree.files(in: .sources).filter { PathSet.isSwift($0.path) }.flatMap { file in
            file.code.indices.compactMap { index -> Finding? in
                guard let last = endOfLogCall(file, from: index) else { return nil }
                let text = file.lines[index...last].joined()
                let isRaised =
                    text.contains(".warning") || text.contains(".error")
                    || text.contains("log(true")
                guard isRaised, !reasons.contains(where: text.contains) else { return nil }
                let message = "the line says neither why (reason) nor what to do (advice)"
                return Finding(path: file.path, line: index + 1, message: message)
            }
        }
    }

    /// The line in which a call ends that writes to the log; nil if none begins in this line.
    private static func endOfLogCall(_ file: SourceFile, from index: Int) -> Int? {
        let calls = ["log.write(", ".log(true", " log(true"]
        let code = file.code[index]
        let begin = calls.lazy.compactMap { code.firstRange(of: $0)?.lowerBound }.first
        guard let begin else { return nil }
        var depth = 0
        for line in index..<file.code.count {
            let rest = line == index ? code[begin...] : file.code[line][...]
            for letter in rest where letter == "(" || letter == ")" {
                depth += letter == "(" ? 1 : -1
                if depth == 0 { return line }
            }
        }
        return nil
    }
}
