internal import Foundation
internal import LatchkeyMachine

/// A table of text for a terminal: the first column is aligned to the left, the others to the
/// right.
struct TextTable {
    /// How a cell is highlighted where colour is allowed.
    ///
    /// Its meaning is also in the text.
    enum Emphasis: String {
        case none = ""
        case strong = "1"
        case faint = "2"
        case good = "32"
        case bad = "31"
    }

    struct Cell {
        var text: String
        var emphasis = Emphasis.none

        init(_ text: String, _ emphasis: Emphasis = .none) {
            self.text = text
            self.emphasis = emphasis
        }
    }

    var headings: [String]
    var rows: [[Cell]] = []

    var width: Int {
        widths.reduce(0, +) + 2 * max(0, headings.count - 1)
    }

    private var widths: [Int] {
        headings.indices.map { column in
            max(headings[column].count, rows.map { $0[column].text.count }.max() ?? 0)
        }
    }

    func text(style: TerminalStyle) -> String {
        let widths = widths
        return ([headings.map { Cell($0, .strong) }] + rows).map { cells in
            zip(cells, widths).enumerated().map { column, part in
                let (cell, width) = part
                let space = String(repeating: " ", count: width - cell.text.count)
                let text = style.paint(cell.text, cell.emphasis)
                return column == 0 ? text + space : space + text
            }.joined(separator: "  ") + "\n"
        }.joined()
    }
}

/// The abilities of the terminal.
package struct TerminalStyle: Sendable {
    /// How many columns a line has.
    package var width: Int
    package var usesColor: Bool

    /// On a narrower terminal a line would hold one word.
    package static let widthRange = 20...180
    private static let tableWidthMin = 60

    /// The width of tables, which are not cut for a narrower terminal.
    var tableWidth: Int { max(width, Self.tableWidthMin) }

    package init(width: Int, usesColor: Bool) {
        self.width = min(max(width, Self.widthRange.lowerBound), Self.widthRange.upperBound)
        self.usesColor = usesColor
    }

    /// Highlights text.
    ///
    /// All text of a report goes through here, also that of a foreign file.
    func paint(_ text: String, _ emphasis: TextTable.Emphasis) -> String {
        let text = Self.withoutControls(text)
        return usesColor && emphasis != .none
            ? "\u{1B}[\(emphasis.rawValue)m\(text)\u{1B}[0m" : text
    }

    /// Replaces control characters, which a terminal would obey, and marks of direction, with which
    /// a text looks like another one.
    package static func withoutControls(_ text: String) -> String {
        String(
            text.map { character in
                let isControl = character.unicodeScalars.contains {
                    $0.properties.isBidiControl
                        || [.control, .lineSeparator, .paragraphSeparator]
                            .contains($0.properties.generalCategory)
                }
                return isControl ? "\u{FFFD}" : character
            }
        )
    }

    /// Breaks text into lines; all but the first are indented by two.
    func paragraph(_ text: String, _ emphasis: TextTable.Emphasis = .none) -> String {
        Terminal.lines(text, first: "", indent: 2, width: width)
            .map { paint($0, emphasis) + "\n" }.joined()
    }
}

extension TerminalStyle {
    /// The width of text that goes to a file or a pipe.
    private static let widthElsewhere = 120

    /// The abilities of the descriptor's reader: colour on a terminal only, and not where
    /// `NO_COLOR` or `TERM=dumb` forbids it.
    ///
    /// `COLUMNS` stands in for a width that is not known.
    package init(descriptor: Int32) {
        let variables = ProcessInfo.processInfo.environment
        let columns = Terminal.columns(descriptor)
        let given = variables["COLUMNS"].flatMap { Int($0) } ?? 0
        self.init(
            width: columns > 0 ? columns : given > 0 ? given : Self.widthElsewhere,
            usesColor: isatty(descriptor) == 1 && (variables["NO_COLOR"] ?? "").isEmpty
                && variables["TERM"] != "dumb"
        )
    }
}
