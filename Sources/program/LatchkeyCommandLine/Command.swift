internal import LatchkeySettings

/// A command of the program.
///
/// The program's help and the completions of shells are made of the list of commands.
package struct Command {
    package let name: String
    /// The whole help, for 80 columns, of which `scripts/manual` makes a page of the manual.
    ///
    /// It ends with paragraphs of flags, perhaps not of all.
    package var manual: String { makeManual() }
    package var flags: [Flag] { makeFlags() }
    /// The arguments that are no flags, in their order.
    ///
    /// Shells complete them.
    package let operands: [Flag.Value]
    package let run: ([String]) throws(UsageError) -> Void

    private let makeManual: () -> String
    private let makeFlags: () -> [Flag]

    /// The texts are made when they are asked for: a command that runs does without those of the
    /// others.
    package init(
        name: String,
        manual: @autoclosure @escaping () -> String,
        flags: @autoclosure @escaping () -> [Flag],
        operands: [Flag.Value] = [],
        run: @escaping ([String]) throws(UsageError) -> Void
    ) {
        self.name = name
        makeManual = manual
        makeFlags = flags
        self.operands = operands
        self.run = run
    }

    /// What the command does, from the first line of its help: "serves JSON properties …".
    package var summary: String {
        let manual = manual
        let start = manual.firstRange(of: ": ")?.upperBound ?? manual.startIndex
        let end = manual.firstRange(of: "\n\n")?.lowerBound ?? manual.endIndex
        return String(manual[start..<max(start, end)].replacing("\n", with: " "))
    }
}

extension [Command] {
    /// The lines of a table: the names, and what the commands do.
    package var table: String {
        let rows = map { ($0.name, $0.summary) }
        let width = (rows.map(\.0.count).max() ?? 0) + 3
        return rows.map { name, summary in
            let first = "  " + name + String(repeating: " ", count: width - name.count)
            return TextLines.wrapped(summary, first: first, indent: first.count, width: 80)
        }.joined(separator: "\n")
    }
}
