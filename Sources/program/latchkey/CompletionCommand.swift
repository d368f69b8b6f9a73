internal import LatchkeyCommandLine
internal import LatchkeySettings

/// `latchkey completion`: the scripts for shells that complete the command line.
enum CompletionCommand {
    static let operands: [Flag.Value] = [
        .choice(CompletionScript.allCases.map(\.rawValue))
    ]
    static let flags = [
        Flag.toggle("words", "Prints what can stand in the place of the last WORD.")
    ]

    static let manual = """
        latchkey completion: prints what a shell needs to complete the command line

        Usage: latchkey completion bash|zsh|fish
               latchkey completion --words -- WORD ...

        The package for Debian installs all three. In zsh, the folder must be in fpath.
        The scripts ask the program.

        Examples:
          latchkey completion bash > ~/.local/share/bash-completion/completions/latchkey
          latchkey completion zsh > ~/.zfunc/_latchkey
          latchkey completion fish > ~/.config/fish/completions/latchkey.fish


        """ + flags.map(\.manual).joined(separator: "\n")

    static func run(_ arguments: [String]) throws(UsageError) {
        let values = try FlagValues(
            flags,
            command: "latchkey completion",
            operandCountMax: arguments.contains("--words") ? Int.max : 1,
            arguments: arguments
        )
        if values.isOn("words") {
            return say(Completion(commands: Latchkey.commands).offer(values.operands).text)
        }
        guard let script = values.operands.first.flatMap(CompletionScript.init(rawValue:)) else {
            throw UsageError("'latchkey completion' needs a shell: bash, zsh or fish.")
        }
        say(script.text)
    }
}
