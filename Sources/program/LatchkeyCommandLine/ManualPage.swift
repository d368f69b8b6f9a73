internal import LatchkeySettings

/// A page of the manual in roff, with the macros of man(7).
///
/// It is made of the same text and flags as the help.
package struct ManualPage {
    /// The name of the page, such as `latchkey-serve`.
    package let name: String
    private let text: HelpText
    /// Of a program's own page, the text has all.
    private let flags: [Flag]?
    private let references: [String]

    /// The page of a program, which names those of its commands.
    package init(program: String, help: String, commands: [Command]) {
        name = program
        text = HelpText(help)
        flags = nil
        references = commands.map { "\(program)-\($0.name)" }
    }

    /// The page of a command.
    package init(program: String, command: Command) {
        name = "\(program)-\(command.name)"
        text = HelpText(command.text)
        flags = command.flags
        references = [program]
    }

    /// The file of the page.
    package var fileName: String { name + ".1" }

    /// The source of the page.
    ///
    /// - Parameters:
    ///   - version: The version of the program, for the foot of the page.
    ///   - date: The day as `2026-01-31`; empty if it is not known.
    /// - Returns: The text of the page's file.
    package func roff(version: String, date: String) -> String {
        var source = Roff()
        source.macro("TH", [name.uppercased(), "1", date, version, "User Commands"])
        // Words are neither broken nor spread, so that they can be copied.
        source.macro("nh")
        source.line(".ad l")
        source.macro("SH", ["NAME"])
        source.line(Roff.command(name) + " \\- " + Roff.escaped(text.summary))
        source.macro("SH", ["SYNOPSIS"])
        for (index, form) in text.usage.enumerated() {
            if index > 0 { source.macro("br") }
            source.wrapped(form)
        }
        if !text.body.isEmpty { source.macro("SH", ["DESCRIPTION"]) }
        source.add(text.body)
        let last = ["Status", "Example", "Examples"]
        for section in text.sections where !last.contains(section.title) {
            add(section, to: &source)
        }
        if let flags { addOptions(flags, to: &source) }
        for title in last {
            for section in text.sections where section.title == title {
                add(section, to: &source)
            }
        }
        source.macro("SH", ["SEE ALSO"])
        source.line(references.map { Roff.command($0) + "(1)" }.joined(separator: ",\n"))
        return source.text
    }

    private func add(_ section: HelpText.Section, to source: inout Roff) {
        let title = section.title == "Status" ? "Exit status" : section.title
        source.macro("SH", [title.uppercased()])
        source.add(section.blocks)
    }

    private func addOptions(_ flags: [Flag], to source: inout Roff) {
        source.macro("SH", ["OPTIONS"])
        for flag in flags {
            source.macro("TP")
            let value = flag.value.placeholder
            source.line(
                Roff.command("--" + flag.name)
                    + (value.isEmpty ? "" : " \\fI" + Roff.escaped(value) + "\\fR")
            )
            source.wrapped(flag.explanation)
        }
        source.macro("TP")
        source.line("\(Roff.command("-h")), \(Roff.command("--help"))")
        source.line("Prints the help.")
        addEnvironment(flags, to: &source)
    }

    private func addEnvironment(_ flags: [Flag], to source: inout Roff) {
        let found = flags.filter(\.hasEnvironment)
        guard let first = found.first else { return }
        func equation(_ flag: Flag) -> String { "--\(flag.name) is \(flag.environmentName)" }
        source.macro("SH", ["ENVIRONMENT"])
        source.wrapped(
            found.count == flags.count
                ? "Each option but --help is also an environment variable: \(equation(first))."
                : "As environment variables: \(found.map(equation).joined(separator: ", "))."
        )
        source.line("The option wins if both are given.")
    }
}

/// The source of a page, line by line.
private struct Roff {
    private(set) var text = ""
    private var isSectionStart = false

    mutating func line(_ source: String) {
        text += source + "\n"
        isSectionStart = source.hasPrefix(".SH")
    }

    mutating func macro(_ name: String, _ arguments: [String] = []) {
        let quoted = arguments.map { "\"" + Self.escaped($0) + "\"" }
        line((["." + name] + quoted).joined(separator: " "))
    }

    /// Words in lines that are not long: roff fills them anew.
    mutating func wrapped(_ words: String) {
        for source in TextLines.wrapped(words, indent: 0, width: 72).split(separator: "\n") {
            line(Self.escaped(source))
        }
    }

    /// A section begins with a paragraph.
    private mutating func beginParagraph() {
        if !isSectionStart { macro("PP") }
    }

    mutating func add(_ blocks: [HelpText.Block]) {
        for block in blocks { add(block) }
    }

    private mutating func add(_ block: HelpText.Block) {
        switch block {
        case .paragraph(let words):
            beginParagraph()
            wrapped(words)
        case .literal(let lines):
            beginParagraph()
            macro("EX")
            for text in lines { line(Self.escaped(text, isLiteral: true)) }
            macro("EE")
        case .rows(let rows):
            for row in rows {
                macro("TP")
                line(Self.command(row.name))
                // A name without a meaning would take the next one's.
                row.meaning.isEmpty ? line("\\&") : wrapped(row.meaning)
            }
        }
    }

    /// In bold letters.
    static func command(_ name: String) -> String {
        "\\fB" + escaped(name, isLiteral: true) + "\\fR"
    }

    /// Text whose characters stand for themselves, also at the start of a line, and can be copied
    /// from the page.
    ///
    /// A hyphen inside a word stays one, unless the text is literal.
    static func escaped(_ text: some StringProtocol, isLiteral: Bool = false) -> String {
        var source = ""
        var isOption = isLiteral
        var isStart = true
        for character in text {
            switch character {
            case "\\": source += "\\e"
            case "'": source += "\\(aq"
            case "\"": source += "\\(dq"
            case "`": source += "\\(ga"
            case "^": source += "\\(ha"
            case "~": source += "\\(ti"
            case "-":
                isOption = isOption || isStart
                source += isOption ? "\\-" : "-"
            case "." where source.isEmpty: source += "\\&."
            case _ where character.isASCII: source.append(character)
            default:
                for scalar in character.unicodeScalars {
                    let digits = String(scalar.value, radix: 16, uppercase: true)
                    let zeros = String(repeating: "0", count: max(0, 4 - digits.count))
                    source += "\\[u\(zeros)\(digits)]"
                }
            }
            isStart = !(character.isLetter || character.isNumber || character == "-")
            if isStart { isOption = isLiteral }
        }
        return source
    }
}
