internal import Foundation

/// Markdown from untrusted text, such as that of a foreign report.
enum Markdown {
    /// Text between backquotes stays code; elsewhere nothing is markup.
    static func escaped(_ text: String) -> String {
        let parts = TerminalStyle.withoutControls(text).components(separatedBy: "`")
        return parts.enumerated().map { index, part in
            let isCode = index % 2 == 1 && index < parts.count - 1
            guard !isCode else { return "`\(part.replacing("|", with: "\\|"))`" }
            let marked = part.map { "\\*_[]<>&|#~!".contains($0) ? "\\\($0)" : "\($0)" }.joined()
            // An odd backquote is a character.
            return (index % 2 == 1 ? "\\`" : "") + marked
        }.joined()
    }

    static func strong(_ text: String) -> String { text.isEmpty ? "" : "**\(escaped(text))**" }

    static func code(_ text: String) -> String {
        "`\(TerminalStyle.withoutControls(text).replacing("`", with: "'"))`"
    }

    /// Ends with an empty line, unless it is empty.
    static func list(_ items: [String], countMax: Int) -> [String] {
        let left = items.count - countMax
        let lines =
            items.prefix(countMax).map { "- \(escaped($0))" }
            + (left > 0 ? ["- and \(left) more in the JSON"] : [])
        return lines.isEmpty ? [] : lines + [""]
    }

    static func table(_ headings: [String], _ rows: [[String]]) -> [String] {
        func line(_ cells: [String]) -> String { "| " + cells.joined(separator: " | ") + " |" }
        let rule = headings.indices.map { $0 == 0 ? "---" : "---:" }
        return [line(headings), line(rule)] + rows.map { line($0) }
    }
}
