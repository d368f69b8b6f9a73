internal import Foundation
internal import LatchkeyCommandLine
internal import LatchkeyReport
internal import LatchkeySettings

/// `latchkey manual`: the pages of the manual, for `man`.
enum ManualCommand {
    static let flags = [
        Flag(
            "folder",
            .text(placeholder: "DIR"),
            default: "",
            "Writes all pages into this folder, which must be there, and prints nothing."
        )
    ]

    static let manual = """
        latchkey manual: prints a page of the manual, for man

        Usage: latchkey manual [COMMAND]
               latchkey manual --folder DIR

        Prints the source of latchkey(1), or of the page of a command. The pages say what
        --help says.

        Examples:
          latchkey manual serve | man -l -
          latchkey manual --folder /usr/local/share/man/man1


        """ + flags.map(\.manual).joined(separator: "\n")

    static func run(_ arguments: [String]) throws(UsageError) {
        let values = try FlagValues(
            flags,
            command: "latchkey manual",
            operandCountMax: 1,
            arguments: arguments
        )
        if let name = values.operands.first {
            guard !values.isGiven("folder") else {
                throw UsageError("--folder writes all pages, so a command has no meaning with it.")
            }
            say(source(ManualPage(program: "latchkey", command: try Latchkey.command(name))))
        } else if values.isGiven("folder") {
            do {
                for page in pages {
                    let path = values.text("folder") + "/" + page.fileName
                    try ReportFile.write(Array(source(page).utf8), to: path)
                }
            } catch {
                complain(error.message)
                exit(2)
            }
        } else {
            say(source(pages[0]))
        }
    }

    /// All pages; the program's own is the first one.
    static var pages: [ManualPage] {
        let commands = Latchkey.commands
        let first = ManualPage(program: "latchkey", help: Latchkey.manual, commands: commands)
        return [first] + commands.map { ManualPage(program: "latchkey", command: $0) }
    }

    private static func source(_ page: ManualPage) -> String {
        page.roff(version: "latchkey \(Latchkey.version)", date: latchkeyBuildDay)
    }
}
