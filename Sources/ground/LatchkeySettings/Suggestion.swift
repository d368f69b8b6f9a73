/// The name that a user may have meant.
package enum Suggestion {
    /// The name that is nearest to a misspelled one; `nil` if none is near.
    ///
    /// One edit in three characters is near, and always one edit in all.
    package static func nearest(to text: String, among names: [String]) -> String? {
        let text = Array(text.lowercased())
        guard !text.isEmpty else { return nil }
        let distances = names.map { name in (name, distance(text, Array(name.lowercased()))) }
        let best = distances.min { $0.1 < $1.1 }
        return best.flatMap { name, distance in
            distance <= max(1, min(text.count, name.count) / 3) ? name : nil
        }
    }

    /// A sentence that begins with a space; empty if no name is near.
    package static func sentence(for text: String, among names: [String]) -> String {
        nearest(to: text, among: names).map { " Did you mean '\($0)'?" } ?? ""
    }

    /// A sentence that a name is not known, with the known ones.
    ///
    /// `` `tll` is not known here; `ttl` is.`` The text may be a client's: see ``isPlain(_:_:)``.
    ///
    /// - Parameters:
    ///   - text: The name.
    ///   - names: The known names: at least one.
    ///   - noun: The noun for a name that cannot be repeated: `This parameter`.
    /// - Returns: The sentence.
    package static func correction(
        of text: String,
        among names: [String],
        _ noun: String
    ) -> String {
        let subject = isPlain(text, shownByteCountMax) ? "`\(text)`" : noun
        if text.utf8.count <= shownByteCountMax, let nearest = nearest(to: text, among: names) {
            return "\(subject) is not known here; `\(nearest)` is."
        }
        let list = names.map { "`\($0)`" }
        let known = [list.dropLast().joined(separator: ", "), list.last ?? ""]
            .filter { !$0.isEmpty }.joined(separator: " and ")
        return "\(subject) is not known here; \(known) \(names.count == 1 ? "is" : "are")."
    }

    private static let shownByteCountMax = 64

    /// Whether a text can be repeated to people: it is short, and has no character that is not
    /// shown.
    package static func isPlain(_ text: String, _ byteCountMax: Int) -> Bool {
        !text.isEmpty && text.utf8.count <= byteCountMax
            && text.unicodeScalars.allSatisfy(isPlain)
    }

    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate,
            .unassigned, .spaceSeparator:
            scalar == " "
        default: scalar != "`"
        }
    }

    /// The least number of characters that are inserted, removed, replaced, or exchanged with their
    /// neighbour, to make one text of the other (optimal string alignment).
    static func distance(_ first: [Character], _ second: [Character]) -> Int {
        // Row `i` has the distances of the first `i` characters to all beginnings of `second`.
        var rows = [Array(0...second.count)]
        for (i, character) in first.enumerated() {
            var row = [i + 1]
            for (j, other) in second.enumerated() {
                let replaced = rows[i][j] + (character == other ? 0 : 1)
                var least = min(replaced, row[j] + 1, rows[i][j + 1] + 1)
                if i > 0, j > 0, character == second[j - 1], first[i - 1] == other {
                    least = min(least, rows[i - 1][j - 1] + 1)
                }
                row.append(least)
            }
            rows.append(row)
        }
        return rows[first.count][second.count]
    }
}
