import LatchkeyMachine
import Testing

/// Paragraphs that are broken between words.
@Suite struct TerminalTests {
    @Test func `lines are indented, and a long word has a line of its own`() {
        #expect(
            Terminal.lines("a bb  ccc 1234567890123 d", indent: 2, width: 8) == [
                "  a bb", "  ccc", "  1234567890123", "  d",
            ]
        )
        #expect(
            Terminal.lines("aa bb cc", first: "name  ", indent: 4, width: 11) == [
                "name  aa bb", "    cc",
            ]
        )
        #expect(Terminal.lines("a b c", first: "", indent: 2, width: 3) == ["a b", "  c"])
    }

    @Test func `no text is one line without words`() {
        #expect(Terminal.lines("", width: 80) == [""])
        #expect(Terminal.lines("  ", indent: 2, width: 80) == ["  "])
        #expect(Terminal.lines("", first: "name", indent: 2, width: 80) == ["name"])
    }

    /// This decides each break.
    @Test func `a line ends exactly where the next word has no room`() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            let words = (0..<Int.random(in: 1...30, using: &random)).map { _ in
                (0..<Int.random(in: 1...12, using: &random))
                    .map { _ in ["a", "µ", "–", "é", "0"].randomElement(using: &random) ?? "" }
                    .joined()
            }
            let indent = Int.random(in: 0...4, using: &random)
            let first = Bool.random(using: &random) ? "" : String(repeating: " ", count: indent)
            let width = Int.random(in: 8...40, using: &random)
            let lines = Terminal.lines(
                words.joined(separator: " "),
                first: first,
                indent: indent,
                width: width
            )
            #expect(lines.flatMap { $0.split(separator: " ") }.map(String.init) == words)
            for (index, line) in lines.enumerated() {
                let start = index == 0 ? first : String(repeating: " ", count: indent)
                let parts = line.dropFirst(start.count).split(separator: " ")
                #expect(line == start + parts.joined(separator: " "), "\(lines)")
                #expect(line.count <= width || parts.count == 1, "\(lines)")
                guard index + 1 < lines.count else { continue }
                let next = lines[index + 1].split(separator: " ")[0]
                #expect(line.count + 1 + next.count > width, "\(lines), \(width)")
            }
        }
    }
}
