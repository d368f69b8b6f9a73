/// The name that somebody may have meant.
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
