/// A file: its lines, and its lines with spaces for comments and literals.
struct SourceFile: Sendable {
    let path: String
    let text: String
    let lines: [String]

    /// The same lines with spaces for every comment and the inside of every literal.
    ///
    /// So a rule about code does not match text. Only for Swift and C.
    let code: [String]

    init(path: String, text: String) {
        self.path = path
        self.text = text
        lines = Self.split(text)
        switch path.suffix(after: ".") {
        case "swift": code = Self.split(CodeScanner.blanked(text, language: .swift))
        case "c", "h": code = Self.split(CodeScanner.blanked(text, language: .c))
        default: code = lines
        }
    }

    private static func split(_ text: String) -> [String] {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        if lines.last == "" { lines.removeLast() }
        return lines
    }
}

extension String {
    /// The text after the last `separator`, or "" if there is none.
    func suffix(after separator: Character) -> String {
        lastIndex(of: separator).map { String(self[index(after: $0)...]) } ?? ""
    }

    /// How many spaces the line starts with.
    var indentation: Int {
        prefix { $0 == " " }.count
    }

    var isBlank: Bool {
        allSatisfy(\.isWhitespace)
    }
}
