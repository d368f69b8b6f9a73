internal import LatchkeySettings

extension Completion {
    /// For bash 4 and later, also without the package bash-completion.
    var bash: String {
        let names = commands.map(\.name).joined(separator: " ")
        let flags = commands.compactMap(bashFlags).joined(separator: "\n")
        let values = commands.flatMap(bashValues).joined(separator: "\n")
        let operands = commands.flatMap(bashOperands).joined(separator: "\n")
        return comment(.bash) + bashFunctions + """

            _\(program)() {
                local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]}
                local prefix='' flag='' flags='' toggles=' --help -h ' position=0 index
                COMPREPLY=()
                if ((COMP_CWORD == 1)); then
                    _\(program)_names '\(names) --help --version'
                    return
                fi
                for ((index = 2; index < COMP_CWORD; index++)); do
                    if [[ ${COMP_WORDS[index]} == -- ]]; then
                        # What follows is another program's command line.
                        mapfile -t COMPREPLY < <(compgen -c -- "$word")
                        return
                    fi
                done
                case $command in
            \(flags)
                esac
                _\(program)_flag
                case "$command $flag" in
            \(values)
                esac
                if [[ $word == -* ]]; then
                    _\(program)_names "$flags --help"
                    return
                fi
                _\(program)_position
                case "$command $position" in
            \(operands)
                *) _\(program)_names "$flags --help" ;;
                esac
            }

            complete -F _\(program) \(program)

            """
    }

    /// What does not depend on the commands.
    ///
    /// These functions share the variables of the last one.
    private var bashFunctions: String {
        """

        _\(program)_names() {
            mapfile -t COMPREPLY < <(compgen -P "$prefix" -W "$1" -- "$word")
        }

        _\(program)_paths() {
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -P "$prefix" "$1" -- "$word")
        }

        # The last of several names with commas between them.
        _\(program)_list() {
            [[ $word != *,* ]] || prefix+=${word%,*},
            word=${word##*,}
            compopt -o nospace 2>/dev/null
            _\(program)_names "$1"
        }

        # The flag whose value is completed. For bash, '=' is a word of its own.
        _\(program)_flag() {
            local before=${COMP_WORDS[COMP_CWORD - 1]}
            if [[ $word == = ]]; then
                flag=$before word=''
            elif [[ $before == = ]]; then
                flag=${COMP_WORDS[COMP_CWORD - 2]}
            elif [[ $word == --*=* ]]; then
                flag=${word%%=*} prefix=${word%%=*}= word=${word#*=}
            elif [[ $before == --* ]]; then
                flag=$before
            fi
        }

        # How many arguments that are no flags stand in front of the word.
        _\(program)_position() {
            for ((index = 2; index < COMP_CWORD; index++)); do
                case ${COMP_WORDS[index]} in
                =) ((index++)) ;;
                -*)
                    [[ $toggles == *" ${COMP_WORDS[index]} "* ]] ||
                        [[ ${COMP_WORDS[index + 1]} == = ]] || ((index++))
                    ;;
                *) ((position++)) ;;
                esac
            done
        }

        """
    }

    /// The flags of a command, and those without a value.
    private func bashFlags(_ command: Command) -> String? {
        guard !command.flags.isEmpty else { return nil }
        func joined(_ flags: [Flag]) -> String {
            flags.map { "--\($0.name)" }.joined(separator: " ")
        }
        let toggles = command.flags.filter { bashAction($0.completed) == nil }
        var lines = ["    \(command.name))", "        flags='\(joined(command.flags))'"]
        if !toggles.isEmpty { lines.append("        toggles+='\(joined(toggles)) '") }
        return (lines + ["        ;;"]).joined(separator: "\n")
    }

    /// What each flag of a command is followed by.
    private func bashValues(_ command: Command) -> [String] {
        command.flags.compactMap { flag in
            bashAction(flag.completed).map { action in
                "    '\(command.name) --\(flag.name)')\n        \(action)\n        return\n"
                    + "        ;;"
            }
        }
    }

    private func bashOperands(_ command: Command) -> [String] {
        command.operands.enumerated().map { position, values in
            let action = bashAction(CompletedValue(values)) ?? ":"
            return "    '\(command.name) \(position)') \(action) ;;"
        }
    }

    /// The call that completes a value; nil if there is no value.
    private func bashAction(_ value: CompletedValue) -> String? {
        switch value {
        case .none: nil
        case .anything: ":"
        case .files: "_\(program)_paths -f"
        case .folders: "_\(program)_paths -d"
        case .names(let names): "_\(program)_names '\(names.joined(separator: " "))'"
        case .list(let names): "_\(program)_list '\(names.joined(separator: " "))'"
        }
    }
}
