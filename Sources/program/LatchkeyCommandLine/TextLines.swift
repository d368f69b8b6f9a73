internal import LatchkeyMachine

/// Text for a terminal, broken between words.
package enum TextLines {
    /// A paragraph in lines of at most `width` columns.
    package static func wrapped(
        _ text: String,
        first: String? = nil,
        indent: Int,
        width: Int
    ) -> String {
        Terminal.lines(text, first: first, indent: indent, width: width)
            .joined(separator: "\n")
    }

    /// Breaks lines that are too long, each at its own indentation.
    package static func broken(_ text: String, width: Int) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let indent = line.prefix { $0 == " " }.count
            return line.count <= width
                ? String(line) : wrapped(String(line), indent: indent, width: width)
        }.joined(separator: "\n")
    }

    /// A manual that was written for 80 columns, for a terminal that has fewer.
    ///
    /// Lines of a paragraph have the same indentation and are joined first. A command has a line of
    /// its own. In a line of a table, two spaces stand between a name and its meaning, which is
    /// indented as a whole.
    package static func fitted(_ manual: String, width: Int) -> String {
        let lines = manual.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.contains(where: { $0.count > width }) else { return manual }
        var paragraphs: [Paragraph] = []
        for line in lines {
            let next = Paragraph(line)
            if let last = paragraphs.last, next.continues(last) {
                paragraphs[paragraphs.count - 1].text += " " + next.text
            } else {
                paragraphs.append(next)
            }
        }
        return paragraphs.map { $0.lines(width) }.joined(separator: "\n")
    }

    private struct Paragraph {
        /// The part before the text in its first line: spaces, and the name in a table.
        let first: String
        var text: String
        private let isTableLine: Bool

        /// The indentation of a table's second column is at most this part of the width.
        private static let columnShareMax = 3

        init(_ line: Substring) {
            let margin = line.prefix { $0 == " " }
            let rest = line[margin.endIndex...]
            if let gap = rest.firstRange(of: "  ") {
                let meaning = rest[gap.lowerBound...].drop { $0 == " " }
                first = String(line[..<meaning.startIndex])
                text = String(meaning)
                isTableLine = true
            } else {
                first = String(margin)
                text = String(rest)
                isTableLine = false
            }
        }

        /// Whether this line goes on with the paragraph before it.
        func continues(_ other: Paragraph) -> Bool {
            guard !isTableLine, !text.isEmpty, !other.text.isEmpty else { return false }
            return !isCommand && !other.isCommand && first.count == other.first.count
        }

        private static let usage = "Usage: "

        private var isCommand: Bool {
            ["latchkey ", "latchkey: ", "\(programName) ", "\(programName): ", Self.usage, "--"]
                .contains { text.hasPrefix($0) }
        }

        func lines(_ width: Int) -> String {
            guard !text.isEmpty else { return "" }
            var indent = first.count
            if isTableLine, indent > width / Self.columnShareMax {
                indent = first.prefix { $0 == " " }.count + 4
            } else if isCommand {
                indent += 4 + (text.hasPrefix(Self.usage) ? Self.usage.count : 0)
            }
            return TextLines.wrapped(text, first: first, indent: indent, width: width)
        }
    }
}
