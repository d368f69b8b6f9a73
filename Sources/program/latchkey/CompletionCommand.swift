internal import LatchkeyCommandLine
internal import LatchkeySettings

/// `latchkey completion`: what a shell needs to complete the command line.
enum CompletionCommand {
    static let operands: [Flag.Value] = [
        .choice(Completion.Shell.allCases.map(\.rawValue))
    ]

    static let manual = """
        latchkey completion: prints what a shell needs to complete the command line

        Usage: latchkey completion bash|zsh|fish

        The package for Debian installs all three. In zsh, the folder must be in fpath.

        Examples:
          latchkey completion bash > ~/.local/share/bash-completion/completions/latchkey
          latchkey completion zsh > ~/.zfunc/_latchkey
          latchkey completion fish > ~/.config/fish/completions/latchkey.fish

        """

    static func run(_ arguments: [String]) throws(UsageError) {
        let values = try FlagValues(
            [],
            command: "latchkey completion",
            operandCountMax: 1,
            arguments: arguments
        )
        guard let shell = values.operands.first.flatMap(Completion.Shell.init(rawValue:)) else {
            throw UsageError("'latchkey completion' needs a shell: bash, zsh or fish.")
        }
        say(Completion(program: "latchkey", commands: Latchkey.commands).script(shell))
    }
}
