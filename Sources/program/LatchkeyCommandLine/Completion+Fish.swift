internal import LatchkeySettings

extension Completion {
    var fish: String {
        let names = commands.map {
            fishLine("__\(program)_starts", "-a \($0.name)", $0.summary)
        }.joined()
        let rest = commands.map(fishCommand).joined()
        return comment(.fish) + """
            function __\(program)_starts
                test (count (commandline -opc)) -eq 1
            end

            function __\(program)_runs
                set -l words (commandline -opc)
                test (count $words) -ge 2; and test $words[2] = $argv[1]
            end

            complete -c \(program) -f
            complete -c \(program) -s h -l help -d 'print the help'
            complete -c \(program) -n __\(program)_starts -l version -d 'print the version'

            """ + names + rest
    }

    private func fishCommand(_ command: Command) -> String {
        let condition = quoted("__\(program)_runs \(command.name)")
        let flags = command.flags.map { flag in
            let value =
                switch flag.completed {
                case .none: ""
                case .anything: " -x"
                case .files: " -r -F"
                default: " -x -a \(fishArguments(flag.completed))"
                }
            return fishLine(condition, "-l \(flag.name)\(value)", flag.shortHelp)
        }
        let operands = command.operands.map { values in
            switch CompletedValue(values) {
            case .none, .anything: ""
            case .files: fishLine(condition, "-F", "")
            case let value: fishLine(condition, "-a \(fishArguments(value))", "")
            }
        }
        return (flags + operands).joined()
    }

    private func fishArguments(_ value: CompletedValue) -> String {
        switch value {
        case .none, .anything, .files: "''"
        case .folders: "'(__fish_complete_directories)'"
        case .names(let names): quoted(names.joined(separator: " "))
        case .list(let names): quoted("(__fish_append , \(names.joined(separator: " ")))")
        }
    }

    private func fishLine(_ condition: String, _ options: String, _ help: String) -> String {
        let meaning = help.isEmpty ? "" : " -d \(quoted(help))"
        return "complete -c \(program) -n \(condition) \(options)\(meaning)\n"
    }

    /// Inside quotes, a backslash keeps its meaning before a quote and a backslash only.
    private func quoted(_ text: String) -> String {
        "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
    }
}
