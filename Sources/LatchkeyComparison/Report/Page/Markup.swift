/// Text as HTML and SVG.
///
/// Every text that is not markup goes through ``escape(_:)``: names of processors and findings come
/// from outside.
enum Markup {
    static func escape(_ text: String) -> String {
        var escaped = ""
        for character in text {
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.append(character)
            }
        }
        return escaped
    }

    /// A sentence in which `names` stand in backquotes.
    ///
    /// A number stays with its unit.
    static func sentence(_ text: String) -> String {
        var text = text
        for unit in ["%", "ns", "µs", "ms", "s "] {
            for digit in "0123456789" {
                text = text.replacing("\(digit) \(unit)", with: "\(digit)\u{A0}\(unit)")
            }
        }
        let parts = text.split(separator: "`", omittingEmptySubsequences: false).map {
            escape(String($0))
        }
        guard parts.count % 2 == 1 else { return escape(text) }
        return parts.enumerated().map { index, part in
            index % 2 == 0 ? part : "<code>\(part)</code>"
        }.joined()
    }

    /// A coordinate, to a tenth.
    static func at(_ value: Double) -> String {
        let tenths = (value * 10).rounded() / 10
        return tenths == tenths.rounded() ? "\(Int(tenths))" : "\(tenths)"
    }
}
