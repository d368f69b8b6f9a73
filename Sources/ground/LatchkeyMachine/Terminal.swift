internal import CLatchkeyMachine

package enum Terminal {
    /// The columns of the terminal at a descriptor; 0 if it is no terminal or does not know.
    package static func columns(_ descriptor: Int32) -> Int {
        Int(latchkey_machine_terminal_columns(descriptor))
    }

    /// Breaks a paragraph between words, into lines of at most `width` columns.
    ///
    /// A word that is longer has a line of its own. The first line begins with `first`, or as the
    /// others do.
    package static func lines(
        _ text: String,
        first: String? = nil,
        indent: Int = 0,
        width: Int
    ) -> [String] {
        let margin = String(repeating: " ", count: indent)
        var lines: [String] = []
        var line = first ?? margin
        var isEmpty = true
        for word in text.split(separator: " ") {
            if !isEmpty, line.count + 1 + word.count > width {
                lines.append(line)
                (line, isEmpty) = (margin, true)
            }
            line += (isEmpty ? "" : " ") + word
            isEmpty = false
        }
        return lines + [line]
    }
}
