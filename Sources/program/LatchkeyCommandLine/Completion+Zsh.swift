internal import LatchkeySettings

extension Completion {
    /// For a file `_program` in a folder of `fpath`.
    var zsh: String {
        let names = commands.map { "        " + quoted("\($0.name):\($0.summary)") }
            .joined(separator: "\n")
        let cases = commands.map(zshCommand).joined(separator: "\n")
        return "#compdef \(program)\n" + comment(.zsh) + """

            _\(program)() {
                local curcontext="$curcontext" state line
                local -A opt_args
                local -a commands
                commands=(
            \(names)
                )
                _arguments -C \\
                    '(- *)'{-h,--help}'[print the help]' \\
                    '(- *)--version[print the version]' \\
                    '1: :->command' \\
                    '*:: :->arguments'
                case $state in
                command) _describe -t commands command commands ;;
                arguments)
                    case $line[1] in
            \(cases)
                    esac
                    ;;
                esac
            }

            _\(program) "$@"

            """
    }

    private func zshCommand(_ command: Command) -> String {
        var specifications = command.flags.map(zshFlag)
        specifications.append("'(- *)'{-h,--help}'[print the help]'")
        for (index, values) in command.operands.enumerated() {
            specifications.append(
                quoted("\(index + 1):\(values.placeholder):\(zshAction(CompletedValue(values)))")
            )
        }
        return "        \(command.name))\n            _arguments \\\n"
            + specifications.map { "                \($0)" }.joined(separator: " \\\n")
            + "\n            ;;"
    }

    private func zshFlag(_ flag: Flag) -> String {
        let help = "[\(escaped(flag.shortHelp))]"
        let times = flag.isRepeatable ? "*" : ""
        if case .none = flag.completed { return quoted("\(times)--\(flag.name)\(help)") }
        let value = escaped(flag.value.placeholder)
        return quoted("\(times)--\(flag.name)=\(help):\(value):\(zshAction(flag.completed))")
    }

    private func zshAction(_ value: CompletedValue) -> String {
        switch value {
        // One space: the message says what is wanted, and nothing is completed.
        case .none, .anything: " "
        case .files: "_files"
        case .folders: "_files -/"
        case .names(let names): "(\(names.joined(separator: " ")))"
        case .list(let names): "_sequence compadd - \(names.joined(separator: " "))"
        }
    }

    /// In a specification, a colon and brackets have a meaning.
    private func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            if "\\:[]".contains(character) { result.append("\\") }
            result.append(character)
        }
        return result
    }

    private func quoted(_ text: String) -> String {
        "'" + text.replacing("'", with: "'\\''") + "'"
    }
}
