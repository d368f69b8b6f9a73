internal import LatchkeySettings

/// A command of the program.
///
/// The program's help and the completions of shells are made of the list of commands.
package struct Command {
    package let name: String
    /// The help, for 80 columns.
    ///
    /// It ends with paragraphs of flags, perhaps not of all.
    package var manual: String { makeManual() }
    /// The help with all flags, of which `scripts/manual` makes a page of the manual.
    package var fullManual: String { makeFullManual?() ?? manual }
    package var flags: [Flag] { makeFlags() }
    /// The arguments that are no flags, in their order.
    ///
    /// Shells complete them.
    package let operands: [Flag.Value]
    package let run: ([String]) throws(UsageError) -> Void

    private let makeManual: () -> String
    private let makeFullManual: (() -> String)?
    private let makeFlags: () -> [Flag]

    /// The texts are made on demand: a command that runs does not need those of the others.
    package init(
        name: String,
        manual: @autoclosure @escaping () -> String,
        fullManual: (() -> String)? = nil,
        flags: @autoclosure @escaping () -> [Flag],
        operands: [Flag.Value] = [],
        run: @escaping ([String]) throws(UsageError) -> Void
    ) {
        self.name = name
        makeManual = manual
        makeFullManual = fullManual
        makeFlags = flags
        self.operands = operands
        self.run = run
    }

    /// The action of the command, from the first line of its help: "serves JSON properties …".
    package var summary: String {
        let manual = manual
        let start = manual.firstRange(of: ": ")?.upperBound ?? manual.startIndex
        let end = manual.firstRange(of: "\n\n")?.lowerBound ?? manual.endIndex
        return String(manual[start..<max(start, end)].replacing("\n", with: " "))
    }
}

extension [Command] {
    /// The lines of a table: the names and the summaries of the commands.
    package var table: String {
        let rows = map { ($0.name, $0.summary) }
        let width = (rows.map(\.0.count).max() ?? 0) + 3
        return rows.map { name, summary in
            let first = "  " + name + String(repeating: " ", count: width - name.count)
            return TextLines.wrapped(summary, first: first, indent: first.count, width: 80)
        }.joined(separator: "\n")
    }
}
