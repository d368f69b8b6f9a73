/// The parts of a help text, which is written once, for a terminal of 80 columns.
///
/// The first line is `program: what it does`. `Usage: ` begins its forms. A title such as
/// `Status:`, with indented lines below, begins a section. Indented lines are a table if the first
/// one has two spaces between a name and its meaning, and else stand as they are. All else is
/// paragraphs.
struct HelpText {
    enum Block: Equatable {
        case paragraph(String)
        case literal([String])
        case rows([Row])
    }

    struct Row: Equatable {
        var name: String
        var meaning: String
    }

    struct Section: Equatable {
        let title: String
        var blocks: [Block]
    }

    /// What the command does.
    private(set) var summary = ""
    /// The forms of the command, each in one line.
    private(set) var usage: [String] = []
    private(set) var body: [Block] = []
    private(set) var sections: [Section] = []

    init(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, group) in lines.split(whereSeparator: \.isEmpty).enumerated() {
            if index == 0 {
                let title = group.joined(separator: " ")
                let start = title.firstRange(of: ": ")?.upperBound ?? title.startIndex
                summary = String(title[start...])
            } else if group.first?.hasPrefix(Self.usageTitle) == true {
                addUsage(group)
            } else {
                add(group)
            }
        }
    }

    private static let usageTitle = "Usage: "
    private static let titleWordCountMax = 3

    private mutating func addUsage(_ lines: ArraySlice<Substring>) {
        let program = lines.first?.dropFirst(Self.usageTitle.count).prefix { $0 != " " } ?? ""
        for line in lines {
            let form = line.dropFirst(Self.usageTitle.count).drop { $0 == " " }
            if form.hasPrefix(program) || usage.isEmpty {
                usage.append(String(form))
            } else {
                usage[usage.count - 1] += " " + form
            }
        }
    }

    /// Adds lines between two empty ones.
    private mutating func add(_ lines: ArraySlice<Substring>) {
        var rest = lines
        var followsParagraph = false
        while let first = rest.first {
            let isIndented = first.hasPrefix(" ")
            let part = rest.prefix { $0.hasPrefix(" ") == isIndented }
            rest = rest.dropFirst(part.count)
            if isIndented {
                addIndented(part, toBody: followsParagraph)
            } else if part.count == 1, first.hasSuffix(":"), !rest.isEmpty,
                first.split(separator: " ").count <= Self.titleWordCountMax
            {
                sections.append(Section(title: String(first.dropLast()), blocks: []))
            } else {
                addParagraph(part)
                followsParagraph = true
            }
        }
    }

    /// Lines that begin with the program's name are what is typed or printed.
    private mutating func addParagraph(_ lines: ArraySlice<Substring>) {
        var words: [Substring] = []
        func flushed(_ blocks: [Block]) -> [Block] {
            words.isEmpty ? blocks : blocks + [.paragraph(words.joined(separator: " "))]
        }
        for line in lines {
            if line.hasPrefix("latchkey ") || line.hasPrefix("latchkey: ") {
                body = flushed(body) + [.literal([String(line)])]
                words = []
            } else {
                words.append(line)
            }
        }
        body = flushed(body)
    }

    /// They belong to the section above, or to the paragraph that they follow.
    private mutating func addIndented(_ lines: ArraySlice<Substring>, toBody: Bool) {
        let margin = lines.map { $0.prefix { $0 == " " }.count }.min() ?? 0
        let texts = lines.map { $0.dropFirst(margin) }
        var block = Block.literal(texts.map(String.init))
        if texts.first?.contains("  ") == true {
            var rows: [Row] = []
            for text in texts {
                let isRow = !text.hasPrefix(" ")
                let gap = isRow ? text.firstRange(of: "  ") : nil
                let words = text[(gap?.upperBound ?? text.startIndex)...].drop { $0 == " " }
                if isRow {
                    let name = text[..<(gap?.lowerBound ?? text.endIndex)]
                    rows.append(Row(name: String(name), meaning: gap == nil ? "" : String(words)))
                } else {
                    let space = rows[rows.count - 1].meaning.isEmpty ? "" : " "
                    rows[rows.count - 1].meaning += space + words
                }
            }
            block = .rows(rows)
        }
        if toBody || sections.isEmpty {
            body.append(block)
        } else {
            sections[sections.count - 1].blocks.append(block)
        }
    }
}
