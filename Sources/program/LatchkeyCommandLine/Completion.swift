internal import LatchkeySettings

/// A script that completes the command line of a program, for one shell.
///
/// It is made of the list of commands, and needs no program while it completes.
package struct Completion {
    /// The shells for which there is a script.
    package enum Shell: String, CaseIterable {
        case bash
        case zsh
        case fish
    }

    let program: String
    let commands: [Command]

    /// - Parameters:
    ///   - program: The name of the program.
    ///   - commands: All of its commands, but for `help`.
    package init(program: String, commands: [Command]) {
        self.program = program
        let help = Command(
            name: "help",
            manual: "\(program) help: prints the help of a command",
            flags: [],
            operands: [.choice(commands.map(\.name))],
            run: { _ in }
        )
        self.commands = commands + [help]
    }

    package func script(_ shell: Shell) -> String {
        switch shell {
        case .bash: bash
        case .zsh: zsh
        case .fish: fish
        }
    }

    /// What the first lines say.
    func comment(_ shell: Shell) -> String {
        "# Completes the command line of \(program); made by '\(program) completion \(shell)'.\n"
    }
}

/// What a shell can complete of a value.
enum CompletedValue {
    /// There is no value.
    case none
    case anything
    case files
    case folders
    case names([String])
    /// Names with commas between them.
    case list([String])

    init(_ values: Flag.Value) {
        self =
            switch values {
            case .toggle: .none
            case .choice(let names): .names(names)
            case .list(.choice(let names)): .list(names)
            case _ where values.placeholder == "FILE": .files
            case _ where values.placeholder == "DIR": .folders
            default: .anything
            }
    }
}

extension Flag {
    var completed: CompletedValue { CompletedValue(value) }

    /// The first sentence of the help, without its full stop.
    var shortHelp: String {
        let end = help.firstRange(of: ". ")?.lowerBound ?? help.endIndex
        let sentence = help[..<end]
        return String(sentence.hasSuffix(".") ? sentence.dropLast() : sentence)
    }
}
